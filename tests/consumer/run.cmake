# Builds and runs a small project that uses the library as its users do.
# -D KIND=find_package|add_subdirectory -D SOURCE= -D BUILD= (the build to install from) -D WORK=
# -D LIBRARY= (what is installed) -D NM= (the lister of symbols) -D SANITIZE= (what the library is sanitized for)
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGV}\n${output}")
  endif()
endfunction()

# The C++ examples of the guide are these very consumers.
file(READ "${SOURCE}/docs/guide/library.md" guide)
foreach(example consumer training)
  file(READ "${SOURCE}/tests/consumer/${example}.cpp" text)
  string(FIND "${guide}" "${text}" found)
  if(found EQUAL -1)
    message(FATAL_ERROR "docs/guide/library.md does not show tests/consumer/${example}.cpp as it is")
  endif()
endforeach()

file(REMOVE_RECURSE "${WORK}")
set(arguments "")
if(KIND STREQUAL find_package)
  run(${CMAKE_COMMAND} --install "${BUILD}" --prefix "${WORK}/prefix")
  list(APPEND arguments "-DCMAKE_PREFIX_PATH=${WORK}/prefix")
  run("${WORK}/prefix/bin/scalecalc" --version)
  # Eigen's inline functions are the library's own: a user's, of another layout, are never mixed in.
  execute_process(COMMAND "${NM}" "${LIBRARY}"
    OUTPUT_VARIABLE symbols ERROR_QUIET COMMAND_ERROR_IS_FATAL ANY)
  string(FIND "${symbols}" "14ScalecalcEigen" own)
  string(FIND "${symbols}" "N5Eigen" shared)
  if(own EQUAL -1 OR NOT shared EQUAL -1)
    message(FATAL_ERROR "the library shows functions of namespace Eigen")
  endif()
else()
  list(APPEND arguments "-DSCALECALC_SOURCE=${SOURCE}" "-DSCALECALC_CCACHE=${CCACHE}")
endif()
if(SANITIZE)
  list(APPEND arguments "-DCMAKE_CXX_FLAGS=-fsanitize=${SANITIZE}")
endif()
run(${CMAKE_COMMAND} -G Ninja -S "${SOURCE}/tests/consumer/${KIND}" -B "${WORK}/build"
    -DCMAKE_BUILD_TYPE=Release ${arguments})
if(KIND STREQUAL add_subdirectory)
  # The whole library is compiled by its own tests already: here only that the project configures,
  # and that it brings neither tests nor installation rules into its parent.
  if(EXISTS "${WORK}/build/scalecalc/tests" OR EXISTS "${WORK}/build/scalecalc/scalecalcConfig.cmake")
    message(FATAL_ERROR "as a subdirectory the project adds tests or an installation")
  endif()
else()
  run(${CMAKE_COMMAND} --build "${WORK}/build")
  run("${WORK}/build/consumer")
  run("${WORK}/build/training")
  run("${WORK}/build/eigen")
endif()
