#include "server/report/text/document.h"

namespace castscope::report {

nlohmann::ordered_json document(const DocumentForm& form, const nlohmann::ordered_json& members) {
  nlohmann::ordered_json whole = {
      {"document", form.name}, {"format", form.format}, {"format_minor", form.format_minor}};
  whole.update(members);
  return whole;
}

}  // namespace castscope::report
