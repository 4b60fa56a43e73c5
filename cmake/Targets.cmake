include(GoogleTest)

option(CASTSCOPE_MERGE "Compile the sources of a room together: a build of the program from nothing takes a third less" ON)

# The sources of each folder are compiled as one unit, or as several where there are many: reading the headers takes
# longer than all that follows. Their unnamed namespaces must not have the same name twice.
function(castscope_merge name)
  if(NOT CASTSCOPE_MERGE)
    return()
  endif()
  get_target_property(sources ${name} SOURCES)
  foreach(source IN LISTS sources)
    get_filename_component(folder "${source}" DIRECTORY)
    if(source MATCHES "\\.cc$")
      if(IS_ABSOLUTE "${folder}")  # what the build made; its name must not tell where that was
        cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${CMAKE_BINARY_DIR}")
      endif()
      string(MAKE_C_IDENTIFIER "of_${folder}" room)
      math(EXPR number "${number_of_${room}} + 0")
      math(EXPR unit "${number} / 15")
      math(EXPR number_of_${room} "${number} + 1")
      set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${room}_${unit}")
    endif()
  endforeach()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # GCC takes the sources for headers and warns of a class that has a member of an unnamed namespace.
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endfunction()

# What runs once for a report, a page or a command, not once for each event: -O1 compiles it a fifth quicker than -O2, and
# nobody sees the difference.
function(castscope_seldom_run name)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O1>)
endfunction()

# castscope_library(NAME SOURCES a.cc b.cc [LINK libraries…] [SELDOM_RUN])
function(castscope_library name)
  cmake_parse_arguments(ARG "SELDOM_RUN" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  castscope_merge(${name})
  if(ARG_SELDOM_RUN)
    castscope_seldom_run(${name})
  endif()
endfunction()

add_custom_target(unit_tests)  # all of them

# What is tested is compiled as it is shipped; the tests themselves are not optimised, which would take longer than they
# run. Headers of others that many of them include are compiled once for all. Ours are not among these, so that a change
# of one compiles no test that does not include it. (The program's merged sources would gain nothing by it.)
set(castscope_of_tests $<$<CONFIG:Release,RelWithDebInfo>:-O0>)
# -fpch-preprocess: ccache can keep what such a file becomes.
set(castscope_precompiled $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/test_headers.cc" CONTENT "")
add_library(castscope_test_headers OBJECT EXCLUDE_FROM_ALL "${CMAKE_BINARY_DIR}/test_headers.cc")
set_target_properties(castscope_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)  # -fPIE, as programs have it
target_link_libraries(castscope_test_headers PRIVATE GTest::gmock)
target_compile_options(castscope_test_headers PRIVATE -fPIE ${castscope_of_tests} ${castscope_precompiled})
target_precompile_headers(castscope_test_headers PRIVATE
  <algorithm> <filesystem> <functional> <map> <memory> <optional> <set> <span> <string> <string_view> <utility> <vector>
  <absl/container/flat_hash_map.h> <absl/status/statusor.h> <absl/strings/str_cat.h> <absl/strings/str_join.h>
  <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp>)

# gold links a test in half of the time that the usual linker takes, most of which goes into gRPC and protobuf. Sanitizers
# come with settings for the usual one.
find_program(GOLD ld.gold)
mark_as_advanced(GOLD)
set(castscope_links_quickly "")
if(GOLD AND NOT CASTSCOPE_SANITIZE)
  set(castscope_links_quickly -fuse-ld=gold)
endif()

# castscope_test(NAME SOURCES a_test.cc [LINK libraries…]): one GoogleTest program; ctest lists its cases one by one.
function(castscope_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  castscope_merge(${name})
  # gtest's macros are safe behind an `if` without braces; GCC does not know that of a precompiled header.
  target_compile_options(${name} PRIVATE ${castscope_of_tests} ${castscope_precompiled} -Wno-dangling-else)
  target_precompile_headers(${name} REUSE_FROM castscope_test_headers)
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gmock GTest::gtest_main)
  target_link_options(${name} PRIVATE ${castscope_links_quickly})
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
