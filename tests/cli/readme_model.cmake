# The model file that the README shows is read and run by the program.
cmake_minimum_required(VERSION 3.25)
file(READ "${FILE}" text)
string(REGEX MATCH "```toml\n(.*)\n```\n\nA mistake" block "${text}")
if(NOT block)
  message(FATAL_ERROR "README.md shows no model file")
endif()
file(WRITE "${WORK}/readme_model.toml" "${CMAKE_MATCH_1}\n")
execute_process(
  COMMAND "${PROGRAM}" sweep "${WORK}/readme_model.toml" --layers 1,2 --seeds 1 --quiet
  RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "${output}")
endif()
