# The distribution's libraries as archives, so that the program needs nothing of the machine it runs on.
# find_package(gRPC CONFIG) would give the shared ones; the list comes from pkg-config instead.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

function(castscope_find_archive variable name)
  find_library(ARCHIVE_${name} NAMES "lib${name}.a")
  mark_as_advanced(ARCHIVE_${name})
  if(NOT ARCHIVE_${name})
    message(FATAL_ERROR "lib${name}.a is missing: scripts/test installs the Debian package that has it")
  endif()
  set(${variable} "${ARCHIVE_${name}}" PARENT_SCOPE)
endfunction()

# gRPC, protobuf and abseil. grpc.pc names RE2's archive but not what that needs (abseil's log, in later Debians).
# pkg-config repeats the archives in link order; a rescanned group needs each once.
execute_process(
  COMMAND "${PKG_CONFIG_EXECUTABLE}" --static --libs-only-l grpc++ protobuf re2
  OUTPUT_VARIABLE grpc_flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "-l[^ ]+" grpc_flags "${grpc_flags}")
# absl::Cleanup, flat_hash_map and friends are header-only or in archives gRPC already names.
list(REMOVE_DUPLICATES grpc_flags)
set(grpc_archives "")
foreach(flag IN LISTS grpc_flags)
  string(SUBSTRING "${flag}" 2 -1 name)
  if(name MATCHES "^(dl|rt|pthread|m|atomic)$")
    continue()  # part of libc, or of the compiler
  endif()
  castscope_find_archive(archive "${name}")
  list(APPEND grpc_archives "${archive}")
endforeach()
string(REPLACE ";" "," grpc_group "${grpc_archives}")
add_library(castscope_grpc INTERFACE)
target_link_libraries(castscope_grpc INTERFACE "$<LINK_GROUP:RESCAN,${grpc_group}>" Threads::Threads atomic)

foreach(name IN ITEMS zstd z minizip sqlite3)
  castscope_find_archive(archive ${name})
  add_library(castscope_${name} INTERFACE)
  target_link_libraries(castscope_${name} INTERFACE "${archive}" Threads::Threads)
endforeach()

find_package(GTest REQUIRED)
find_program(PROTOC protoc REQUIRED)
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)

# spdlog and fmt come without archives: headers only.
add_library(castscope_spdlog INTERFACE)
target_compile_definitions(castscope_spdlog INTERFACE SPDLOG_FMT_EXTERNAL FMT_HEADER_ONLY)
target_link_libraries(castscope_spdlog INTERFACE Threads::Threads)
