#pragma once

#include <string>
#include <vector>

#include "scalecalc/scaling.hpp"

/// What a placement does to one residual branch. A block is one expression in the stream x: the
/// branch F(x) = lambda_1 lambda_2 h(x) applies two weight matrices lambda_1 U_1 and lambda_2 U_2
/// in series (v and o, or ffn_in and ffn_out), h has degree 1, and Norm(z) has size 1 whatever z.
/// Everything else here is derived from that expression.
namespace scalecalc {

/// What the stream's second moment m does from branch to branch when their gains stay as they are.
enum class StreamGrowth {
  held,       ///< a norm acts on the sum
  added,      ///< a norm on the branch: each adds the same, m_l = m_0 + l b^2
  multiplied  ///< no norm at all: m_l = m_0 (1 + b^2)^l
};

struct Block {
  Placement placement;
  std::string picture;  ///< "x' = Norm(alpha*x + F(x))"
  std::string picture_latex;
  Expr next;    ///< x' in x, alpha, lambda_1, lambda_2; functions Norm and h
  Expr skip;    ///< size of the identity path before the norm that follows it, at x of size 1
  Expr branch;  ///< what is added to it
};

Block block_of(Placement placement);

/// Size of the branch against the identity path, both gains equal to lambda.
Expr branch_size(const Block& block);
/// Size of the gradient of matrix `index` (1 or 2) of the branch: the derivative with respect to
/// its scale, where the slope of a norm is 1 over the size of what it normalises.
Expr gradient_size(const Block& block, int index);

/// Sizes of the gradients of the gains of its norms, each once, at gains of 1: the derivative with
/// respect to a factor of what the norm returns.
std::vector<Expr> gain_gradient_sizes(const Block& block);

StreamGrowth stream_growth(const Block& block);
/// A norm acts on the sum.
bool is_normalised(const Block& block);
/// alpha may differ from 1.
bool carries_alpha(const Block& block);
/// Why it may not.
std::string fixed_alpha_reason(const Block& block);
/// No choice of alpha and lambda makes gradients small, so that the equation can only be closed by
/// the growth of the stream that divides them.
bool closes_by_growth(const Block& block);
/// The branch's first matrices, and so the attention scores, read the stream without a norm.
bool reads_bare_stream(const Block& block);

Expr alpha_symbol();
Expr lambda_symbol();

}  // namespace scalecalc
