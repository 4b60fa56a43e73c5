include(GoogleTest)

# castscope_library(NAME SOURCES a.cc b.cc [LINK libraries…])
function(castscope_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
endfunction()

# castscope_test(NAME SOURCES a_test.cc [LINK libraries…]): one GoogleTest program; ctest lists its cases one by one.
function(castscope_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gmock GTest::gtest_main)
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
