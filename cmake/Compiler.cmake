set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
# Line tables are all that a stack trace needs, and half of the link time of -g2.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")

add_compile_options(-Wall -Wextra)
include_directories("${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}")

# No file that is built has the path of this folder in it: two checkouts build the same bytes, and share ccache's results.
add_compile_options("-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.")
find_program(CCACHE ccache)
if(CCACHE)
  set(ccache "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros "${CCACHE}")
  foreach(language C CXX)
    set(CMAKE_${language}_COMPILER_LAUNCHER ${ccache})
  endforeach()
endif()

set(CASTSCOPE_SANITIZE "" CACHE STRING "Sanitizers for everything built here, e.g. address,undefined")
if(CASTSCOPE_SANITIZE)
  # What undefined behaviour is found ends the program, as all other findings do. The checks are added before GCC
  # optimises: -O2 takes half as long again as -O1 to see that most of them are not needed.
  add_compile_options(-fsanitize=${CASTSCOPE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -O1)
  add_link_options(-fsanitize=${CASTSCOPE_SANITIZE})
endif()
