# An empty value is no value, of any option of any command of PROGRAM. One of two names is called by
# its first.
cmake_minimum_required(VERSION 3.25)

set(tried 0)
execute_process(COMMAND "${PROGRAM}" --help OUTPUT_VARIABLE help)
string(REGEX MATCH "\nCommands\n.*" listed "${help}")
string(REGEX MATCHALL "\n  [a-z]+" commands "${listed}")
foreach(command IN LISTS commands)
  string(STRIP "${command}" command)
  execute_process(COMMAND "${PROGRAM}" ${command} --help OUTPUT_VARIABLE help)
  string(REGEX MATCHALL "--[a-z-]+(, --[a-z-]+)? [A-Z]" options "${help}")
  foreach(option IN LISTS options)
    string(REGEX REPLACE "^.*(--[a-z-]+) [A-Z]$" "\\1" given "${option}")
    string(REGEX REPLACE "[ ,].*" "" option "${option}")
    execute_process(COMMAND "${PROGRAM}" ${command} ${given} ""
      RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE err)
    math(EXPR tried "${tried} + 1")
    if(NOT code EQUAL 2 OR NOT out STREQUAL "" OR
       NOT err MATCHES "^scalecalc: ${option} needs a value .this one is empty.; [^\n]*\n$")
      message(SEND_ERROR "${command} ${given} '': ${code} ${out}${err}")
    endif()
  endforeach()
endforeach()
if(tried LESS 100)
  message(FATAL_ERROR "only ${tried} options found")
endif()
