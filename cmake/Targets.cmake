include(GoogleTest)

# Headers of others that many files of a part include: compiled once for the part, where it is large enough to be worth
# that. Ours are not among them, so that a change of one compiles no file that does not include it.
set(castscope_common_headers
  <algorithm> <array> <functional> <map> <memory> <optional> <set> <span> <string> <string_view> <utility> <variant>
  <vector> <absl/container/flat_hash_map.h> <absl/status/statusor.h> <absl/strings/str_cat.h> <absl/strings/str_join.h>)
function(castscope_precompile name)
  get_target_property(sources ${name} SOURCES)
  list(LENGTH sources count)
  if(count GREATER 7)
    # -fpch-preprocess: ccache can keep what such a file becomes.
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
    target_precompile_headers(${name} PRIVATE ${castscope_common_headers} ${ARGN})
  endif()
endfunction()

option(CASTSCOPE_MERGE "Compile the sources of a room together: a build of the program from nothing takes a third less" ON)

# The sources of each folder are compiled as one unit, or as several where there are many: reading the headers takes
# longer than all that follows. Their unnamed namespaces must not have the same name twice. Folders for which that would
# be asked too much are SINGLE: rules, each of which has a Place.
function(castscope_merge name)
  cmake_parse_arguments(ARG "" "" "SINGLE" ${ARGN})
  if(NOT CASTSCOPE_MERGE)
    return()
  endif()
  get_target_property(sources ${name} SOURCES)
  foreach(source IN LISTS sources)
    get_filename_component(folder "${source}" DIRECTORY)
    if(source MATCHES "\\.cc$" AND NOT folder IN_LIST ARG_SINGLE)
      string(MAKE_C_IDENTIFIER "of_${folder}" room)
      math(EXPR number "${number_of_${room}} + 0")
      math(EXPR unit "${number} / 15")
      math(EXPR number_of_${room} "${number} + 1")
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${room}_${unit}")
    endif()
  endforeach()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# castscope_library(NAME SOURCES a.cc b.cc [LINK libraries…] [PRECOMPILE <header>…] [SINGLE folders…])
function(castscope_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;PRECOMPILE;SINGLE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  castscope_merge(${name} SINGLE ${ARG_SINGLE})
  if(ARG_PRECOMPILE)
    castscope_precompile(${name} ${ARG_PRECOMPILE})
  endif()
endfunction()

add_custom_target(unit_tests)  # all of them

# castscope_test(NAME SOURCES a_test.cc [LINK libraries…]): one GoogleTest program; ctest lists its cases one by one. What
# is tested is compiled as it is shipped; the tests themselves are not optimised, which would take longer than they run.
function(castscope_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O0>)
  castscope_precompile(${name} <gmock/gmock.h> <gtest/gtest.h> <filesystem>)
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gmock GTest::gtest_main)
  add_dependencies(unit_tests ${name})
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 120)
endfunction()

# castscope_fake(NAME SOURCE file [LINK libraries…] [FLAGS linker's…] [DEFINE …]): a shared object that a test loads.
function(castscope_fake name)
  cmake_parse_arguments(ARG "" "SOURCE" "LINK;FLAGS;DEFINE" ${ARGN})
  add_library(${name} SHARED ${ARG_SOURCE})
  target_compile_definitions(${name} PRIVATE ${ARG_DEFINE})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  target_link_options(${name} PRIVATE ${ARG_FLAGS})
endfunction()
