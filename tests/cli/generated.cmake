# Writes the text of a target for a model and lets its own compiler read it.
# usage: cmake -DPROGRAM= -DMODEL= -DTARGET= -DSUFFIX= -DCOMPILER="word;..." [-DOPTIONS="word;..."] -DWORK= -P generated.cmake
set(file "${WORK}/generated_${MODEL}_${TARGET}${SUFFIX}")
execute_process(COMMAND "${PROGRAM}" init "${MODEL}" --target "${TARGET}" ${OPTIONS} -o "${file}"
  RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "init ${MODEL} --target ${TARGET}: exit ${code}")
endif()
execute_process(COMMAND ${COMPILER} "${file}" RESULT_VARIABLE code ERROR_VARIABLE says
  WORKING_DIRECTORY "${WORK}")
if(NOT code EQUAL 0)
  message(FATAL_ERROR "${file}: ${says}")
endif()
