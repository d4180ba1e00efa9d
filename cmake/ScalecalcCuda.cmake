# Whether the CUDA backend is built: SCALECALC_HAS_CUDA. It needs nvcc of CUDA 12.8 or newer (the
# library API of the runtime, and compute capability 12.0). cuBLAS, NVRTC and the driver are opened
# when the program first needs them, never linked.
set(SCALECALC_HAS_CUDA OFF)
set(cuda_needs "CUDA 12.8 or newer with nvcc on the PATH, in $CUDACXX or in -DCMAKE_CUDA_COMPILER")
if(NOT SCALECALC_CUDA STREQUAL "OFF")
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
message(STATUS "CUDA backend: ${SCALECALC_HAS_CUDA}")

# scalecalc_cuda_kernels(ROOM): the .cu files of ROOM/cuda, compiled into `scalecalc_ROOM`. nvcc
# sees no header of Boost, CLI11, Eigen or fmt.
function(scalecalc_cuda_kernels room)
  file(GLOB kernels CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${room}/cuda/*.cu")
  set(target scalecalc_${room}_kernels)
  add_library(${target} OBJECT ${kernels})
  target_link_libraries(${target} PRIVATE scalecalc_${room}_headers)
  target_compile_options(${target} PRIVATE -std=c++20 -Xcompiler=-Wall,-Wextra
    $<$<BOOL:${SCALECALC_WERROR}>:-Werror=all-warnings>)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  # CMake 3.25 does not know that nvcc 13 speaks C++20: the option is written out above.
  # Draws are the same bits on every machine: no fused multiply-add.
  set_source_files_properties("${CMAKE_CURRENT_SOURCE_DIR}/${room}/cuda/draw.cu" PROPERTIES
    COMPILE_OPTIONS -fmad=false)
  target_include_directories(scalecalc_${room} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_sources(scalecalc_${room} PRIVATE $<TARGET_OBJECTS:${target}>)
  target_link_libraries(scalecalc_${room} PRIVATE CUDA::cudart_static ${CMAKE_DL_LIBS})
  set_property(GLOBAL APPEND PROPERTY SCALECALC_ROOMS ${target})
endfunction()
