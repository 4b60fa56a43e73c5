// The parts of the page (page.cc).
#pragma once

#include "server/report/model/model.h"
#include "server/report/text/html_writer.h"

namespace castscope::report {

void write_findings(Html&, const Model&);
void write_charts(Html&, const Model&);  // and where the time goes
void write_sites(Html&, const Model&);
void write_graph(Html&, const Model&);  // of a step's operators
void write_layers(Html&, const Model&);
void write_gpu(Html&, const Model&);
void write_modes(Html&, const Model&);
void write_protected(Html&, const Model&);  // arguments that annotations and policies keep from being cast
void write_regions(Html&, const Model&);
void write_processes(Html&, const Model&);

}  // namespace castscope::report
