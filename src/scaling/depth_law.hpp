#pragma once

#include "scaling/block.hpp"

/// How the loss change of one step grows with depth where no pair holds it. With m_l the stream's
/// second moment behind branch l of n, G_l the squared gradient there and p the power of the
/// gradient in the loss change,
///   held by a norm:      G_l grows by e^rate in each layer towards the input,
///   added to:            m_l = 1 + beta l, G_l = (1/m_n) (m_n/m_l)^kappa,
/// and the loss change is [sum over l of G_l^(p/2)]^o, the sum over l as an integral.
namespace scalecalc {

/// The loss change at alpha = lambda = 1, in the depth symbol. Only for a growth that is not
/// explosive.
Expr plain_loss_change(const StepLaw& law, const Block& block, const BlockMoments& moments,
                       std::int64_t sublayers, const Expr& depth);
/// Variance of its logarithm over draws, to first order in that of ln G; nothing where no norm
/// holds the stream (docs/theory/scaling.md#warm-up-draws).
std::optional<double> loss_change_spread(const StepLaw& law, const Block& block,
                                         const BlockMoments& moments, double layers);
/// Why the loss change grows faster than any power of the depth; empty where it does not.
std::string why_explosive(const Block& block, const BlockMoments& moments);

/// The sum itself, over `branches` branches that each add beta to the stream's second moment.
double summed_loss_change(const StepLaw& law, double beta, double kappa, std::int64_t branches);

}  // namespace scalecalc
