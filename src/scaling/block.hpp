#pragma once

#include <string>
#include <vector>

#include "scalecalc/scaling.hpp"

/// What a placement does to one residual branch, as symbols: the stream x is of size 1, the branch
/// applies two weight matrices lambda_1 U_1 and lambda_2 U_2 in series (v and o, or ffn_in and
/// ffn_out) to something of size 1.
namespace scalecalc {

struct Block {
  Placement placement;
  std::string picture;  ///< "x' = Norm(alpha*x + F(x))"
  std::string picture_latex;
  Expr skip;                  ///< size of the identity path before the norm that follows it
  Expr branch;                ///< in lambda_1, lambda_2, alpha; Norm is the function norm
  bool normalised = false;    ///< a norm acts on the sum
  bool carries_alpha = true;  ///< alpha may differ from 1
  bool stream_grows = false;  ///< branches of any size keep a size of their own: the stream's
                              ///< second moment 1 + l*branch^2 must be kept in the equation
  std::string fixed_reason;   ///< why alpha is fixed, where it is
};

Block block_of(Placement placement);

/// Size of the branch against the identity path, both gains equal to lambda.
Expr branch_size(const Block& block);
/// Size of the gradient of matrix `index` (1 or 2) of the branch: the derivative with respect to
/// its scale, where the slope of a norm is 1 over the size of what it normalises.
Expr gradient_size(const Block& block, int index);

Expr alpha_symbol();
Expr lambda_symbol();

}  // namespace scalecalc
