# Whether CUDA devices are built: SCALECALC_HAS_CUDA. They are a library of their own beside the
# program, scalecalc_cuda.so, opened when a CUDA device is asked for: the program itself has nothing
# of CUDA, and starts where there is none. It needs nvcc of CUDA 12.8 or newer (the library API of
# the runtime, and compute capability 12.0). cuBLAS, NVRTC and the driver are opened when they are
# first needed, never linked.
set(SCALECALC_HAS_CUDA OFF)
set(cuda_needs "CUDA 12.8 or newer with nvcc on the PATH, in $CUDACXX or in -DCMAKE_CUDA_COMPILER")
if(SCALECALC_CUDA STREQUAL "ON" OR (PROJECT_IS_TOP_LEVEL AND NOT SCALECALC_CUDA STREQUAL "OFF"))
  # Code for Turing, Ampere, Hopper and Blackwell, and PTX for what comes after.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 90-real 120-real 120-virtual)
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    find_package(CUDAToolkit QUIET)
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.8 AND TARGET CUDA::cudart_static)
      set(SCALECALC_HAS_CUDA ON)
    else()
      message(STATUS "CUDA ${CMAKE_CUDA_COMPILER_VERSION} is not used; it takes ${cuda_needs}")
    endif()
  endif()
  if(SCALECALC_CUDA STREQUAL "ON" AND NOT SCALECALC_HAS_CUDA)
    message(FATAL_ERROR "SCALECALC_CUDA=ON needs ${cuda_needs}; use AUTO or OFF to build without it")
  endif()
endif()
message(STATUS "CUDA devices: ${SCALECALC_HAS_CUDA}")

# The library: the .cu files of tensor/cuda, where nvcc sees no header of Boost, CLI11, Eigen or
# fmt, the .cpp files beside them, and what turns uniform values into drawn ones.
function(scalecalc_cuda_library)
  set(folder "${CMAKE_CURRENT_SOURCE_DIR}/tensor/cuda")
  file(GLOB kernels CONFIGURE_DEPENDS "${folder}/*.cu")
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  add_library(scalecalc_cuda_kernels OBJECT ${kernels})
  target_link_libraries(scalecalc_cuda_kernels PRIVATE scalecalc_tensor_headers)
  # CMake 3.25 does not know that nvcc 13 speaks C++20.
  target_compile_options(scalecalc_cuda_kernels PRIVATE -std=c++20 -Xcompiler=-Wall,-Wextra
    $<$<BOOL:${SCALECALC_WERROR}>:-Werror=all-warnings>)
  set_target_properties(scalecalc_cuda_kernels PROPERTIES
    POSITION_INDEPENDENT_CODE ON CUDA_VISIBILITY_PRESET hidden)
  # Draws are the same bits on every machine: no fused multiply-add.
  set_source_files_properties("${folder}/draw.cu" PROPERTIES COMPILE_OPTIONS -fmad=false)
  scalecalc_plugin(scalecalc_cuda PROGRAM ROOM tensor SOURCES ${sources} tensor/shaping.cpp
    $<TARGET_OBJECTS:scalecalc_cuda_kernels>
    LIBRARIES CUDA::cudart_static ${CMAKE_DL_LIBS})
  target_include_directories(scalecalc_cuda SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
endfunction()
