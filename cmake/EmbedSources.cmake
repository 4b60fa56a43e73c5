# castscope_embed(file.S SYMBOL name [BELOW folder] FILES …): an assembler file with the given files in a table of that
# name: path, begin and end of each file, ended by a null (see server/cli/toolkit/embedded.cc, server/policy/shipped.cc).
# Paths are relative to the repository's root, or to the folder.
function(castscope_embed output)
  cmake_parse_arguments(ARG "" "SYMBOL;BELOW" "FILES" ${ARGN})
  if(NOT ARG_BELOW)
    set(ARG_BELOW "${PROJECT_SOURCE_DIR}")
  endif()
  set(data "  .section .rodata\n")
  set(table "")
  set(paths "")
  set(n 0)
  foreach(file IN LISTS ARG_FILES)
    file(RELATIVE_PATH name "${ARG_BELOW}" "${file}")
    string(APPEND data "name${n}: .asciz \"${name}\"\nbegin${n}: .incbin \"${file}\"\nend${n}: .byte 0\n")
    string(APPEND table "  .quad name${n}, begin${n}, end${n}\n")
    list(APPEND paths "${file}")
    math(EXPR n "${n} + 1")
  endforeach()
  file(CONFIGURE OUTPUT "${output}" CONTENT "${data}
  .section .data.rel.ro, \"aw\"
  .p2align 3
  .globl ${ARG_SYMBOL}
${ARG_SYMBOL}:
${table}  .quad 0, 0, 0
  .section .note.GNU-stack, \"\", @progbits
" @ONLY)
  set_source_files_properties("${output}" PROPERTIES OBJECT_DEPENDS "${paths}")
endfunction()
