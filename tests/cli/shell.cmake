# Runs a shell line with $P for the program in WORK; sets code, out and err.
macro(shell line)
  execute_process(COMMAND sh -c "P='${PROGRAM}'; ${line}" WORKING_DIRECTORY "${WORK}"
    RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE err)
endmacro()
function(expect what)
  if(NOT (${ARGN}))
    message(SEND_ERROR "${what}: exit ${code}\nstdout: ${out}\nstderr: ${err}")
  endif()
endfunction()
