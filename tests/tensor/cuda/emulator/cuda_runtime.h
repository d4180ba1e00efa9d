#pragma once

#include "blocks.hpp"
#include "cuda_runtime_api.h"
