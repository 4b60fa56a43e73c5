"""Numbers of a run are types (server/store/run/ids.h): that of a region in place of a site's does not compile."""

import compiling
import pytest

HEAD = """\
#include "server/store/run/run_data.h"
using namespace castscope::store;
"""
# A function of a run, of a site in it and of the region that the site is in.
OF_A_SITE = "void f{}(RunData& data, const Site& site) {{ {} }}\n"

KEEPS = [
    (OF_A_SITE, "(void)data.sites[site.id]; (void)data.regions[site.region];"),
    (OF_A_SITE, "const SiteId id(7); if (id == site.id && site.region != 0) (void)data.sites.find(id);"),
    (OF_A_SITE, "const std::uint32_t number = site.id; (void)(std::uint64_t{site.id} << 32 | number);"),
    (OF_A_SITE, "Table<Counts, Site> counts(data.sites.size()); counts[site.id] += Counts();"),
]
NO_SITE = "Id<castscope::store::Region>"
BREAKS = [
    # A region's number where a site's is wanted.
    (OF_A_SITE, "(void)data.sites[site.region];", NO_SITE),
    (OF_A_SITE, "(void)data.sites.find(site.region);", "::find(const castscope::store::RegionId&)"),
    (OF_A_SITE, "SiteId id = site.region; (void)id;", NO_SITE),
    (OF_A_SITE, "SiteId id(site.region);", "no matching function for call to 'castscope::store::Id<"),
    (OF_A_SITE, "Table<Counts, Site> counts; (void)counts[site.region];", NO_SITE),
    # Two that have nothing to do with each other are compared.
    (OF_A_SITE, "(void)(site.id == site.region);", "use of deleted function"),
    (OF_A_SITE, "(void)(site.id < site.region);", "use of deleted function"),
    # A number of which nobody has said what it is the number of.
    (OF_A_SITE, "(void)data.sites[1];", "no match for 'operator[]'"),
    (OF_A_SITE, "SiteId id = 1;", "conversion from 'int' to non-scalar type"),
]


def test_code_that_keeps_the_rules_compiles():
    assert not any(compiling.complaints(HEAD, KEEPS))


@pytest.fixture(scope="module")
def refused():
    return compiling.complaints(HEAD, [(around, body) for around, body, _ in BREAKS])


@pytest.mark.parametrize("i", range(len(BREAKS)), ids=[body for _, body, _ in BREAKS])
def test_code_that_breaks_a_rule_does_not(refused, i):
    assert any(BREAKS[i][2] in error for error in refused[i]), refused[i]
