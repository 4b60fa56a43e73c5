# Run by the build: cmake -DPAGE=ui/dist -DOUTPUT=page.S -P EmbedPage.cmake
# An assembler file with every file of the viewer's page in a table (see server/web/http/page.cc); the table is empty where
# the page was not built. File names carry hashes, so they are known only now.
file(GLOB_RECURSE files LIST_DIRECTORIES false RELATIVE "${PAGE}" "${PAGE}/*")
list(SORT files)
set(data "")
set(table "")
set(n 0)
foreach(file IN LISTS files)
  if(file MATCHES "\\.map$")
    continue()  # for those who work on the page
  endif()
  string(APPEND data "name${n}: .asciz \"${file}\"\nbegin${n}: .incbin \"${PAGE}/${file}\"\nend${n}: .byte 0\n")
  string(APPEND table "  .quad name${n}, begin${n}, end${n}\n")
  math(EXPR n "${n} + 1")
endforeach()
file(WRITE "${OUTPUT}" "  .section .rodata
${data}
  .section .data.rel.ro, \"aw\"
  .p2align 3
  .globl castscope_page
castscope_page:
${table}  .quad 0, 0, 0
  .section .note.GNU-stack, \"\", @progbits
")
