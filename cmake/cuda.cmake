# SPDX-License-Identifier: Apache-2.0
# With CACHALOT_CUDA every *.cu of src/ is compiled into one library for sm_90a; without it none is looked at.
option(CACHALOT_CUDA "Compile the CUDA kernels (needs nvcc)" OFF)
if(CACHALOT_CUDA)
  include(CheckLanguage)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    message(FATAL_ERROR "CACHALOT_CUDA is ON but no nvcc was found: install the CUDA toolkit and put nvcc on PATH, "
      "or name it with -DCMAKE_CUDA_COMPILER=/path/to/nvcc, or use the preset release")
  endif()
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90a)
  endif()
  enable_language(CUDA)
  file(GLOB_RECURSE kernels CONFIGURE_DEPENDS src/*.cu)
  if(kernels)
    add_library(cachalot_cuda STATIC ${kernels})
    target_include_directories(cachalot_cuda PUBLIC ${CMAKE_SOURCE_DIR}/src)
    # CMake 3.25 does not know that nvcc 13 speaks C++20, so CMAKE_CUDA_STANDARD can't say it.
    target_compile_options(cachalot_cuda PRIVATE -std=c++20)
  else()
    message(STATUS "CACHALOT_CUDA is ON, but src/ holds no *.cu yet: nothing to compile for the GPU")
  endif()
endif()
