# Run by the build: cmake -DPROGRAM=… -DAGENTS=… -DOUTPUT=… -DSTRIP=… -DOBJCOPY=… -P ShipProgram.cmake
# The program without what debuggers read, and with the archive of agents in a section of its own, which tools that strip
# programs leave alone (server/cli/agents/prebuilt.h).
cmake_path(GET OUTPUT PARENT_PATH folder)
file(MAKE_DIRECTORY "${folder}")
execute_process(COMMAND "${STRIP}" -o "${OUTPUT}.new" "${PROGRAM}" COMMAND_ERROR_IS_FATAL ANY)
if(EXISTS "${AGENTS}")
  execute_process(COMMAND "${PROGRAM}" pack-agent --archive "${AGENTS}" RESULT_VARIABLE not_of_this_program)
  if(not_of_this_program)
    message("They are left out. scripts/agents VERSION… makes them anew.")
  else()
    execute_process(
      COMMAND "${OBJCOPY}" --add-section ".castscope.agents=${AGENTS}"
              --set-section-flags .castscope.agents=noload,readonly "${OUTPUT}.new"
      COMMAND_ERROR_IS_FATAL ANY)
  endif()
endif()
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
