#pragma once

#include "tensor/device.hpp"

namespace scalecalc::tensor {

inline const ConvShape kConvShapes[] = {
    // images, height, width, in, out, kernel, stride, padding, groups, along rows alone
    {1, 1, 1, 1, 1, 1, 1, 0, 1},       {2, 5, 4, 3, 2, 3, 1, 1, 1},
    {1, 5, 7, 4, 6, 3, 2, 1, 2},       {2, 6, 6, 4, 4, 2, 2, 0, 4},
    {1, 3, 3, 2, 3, 5, 1, 2, 1},       {1, 4, 3, 2, 2, 1, 3, 0, 1},
    {2, 1, 9, 4, 6, 3, 2, 1, 2, true}, {1, 3, 5, 2, 3, 5, 1, 2, 1, true},
};

}  // namespace scalecalc::tensor
