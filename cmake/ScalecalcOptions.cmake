# What every target of the project is compiled with.
add_library(scalecalc_options INTERFACE)
target_compile_features(scalecalc_options INTERFACE cxx_std_20)
target_compile_options(scalecalc_options INTERFACE -Wall -Wextra -Wpedantic
  $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>
  # False alarms of GCC 12: string concatenation (bug 105329), inlined Boost integers.
  "$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>"
  $<$<BOOL:${SCALECALC_WERROR}>:-Werror>)
if(SCALECALC_SANITIZE)
  target_compile_options(scalecalc_options INTERFACE
    -fsanitize=${SCALECALC_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(scalecalc_options INTERFACE -fsanitize=${SCALECALC_SANITIZE})
endif()
if(SCALECALC_FUZZ)
  # What libFuzzer looks at: which edges an input takes. What numbers are compared with would take up
  # to half of the time, and the dictionaries have the words that matter.
  target_compile_options(scalecalc_options INTERFACE
    -fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp)
endif()
# Eigen, the same for whoever includes it, since it lays out memory for the processor that it is
# compiled for: without threads of its own, on whose number results would depend, and with the
# buffers of a product's tile on the stack. In a namespace of the library's own: a program that
# compiles Eigen for another processor and links the library must not share its inline functions.
add_library(scalecalc_eigen INTERFACE)
target_link_libraries(scalecalc_eigen INTERFACE Eigen3::Eigen)
target_compile_definitions(scalecalc_eigen INTERFACE
  Eigen=ScalecalcEigen EIGEN_DONT_PARALLELIZE EIGEN_STACK_ALLOCATION_LIMIT=1048576)
target_compile_options(scalecalc_eigen INTERFACE ${SCALECALC_MARCH}
  # False alarms of GCC 12 inside its own AVX-512 header.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized;-Wno-maybe-uninitialized>)
option(SCALECALC_CCACHE "Compile through ccache when it is installed" OFF)
if(SCALECALC_CCACHE)
  find_program(CCACHE_PROGRAM ccache)
  if(CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
    set(CMAKE_CUDA_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
  endif()
endif()
