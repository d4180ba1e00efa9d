#pragma once

#include "cli/json_form.hpp"

/// What each command prints with --format json; completion, whose results are a script, has none.
namespace scalecalc::cli {

JsonForm activation_form();
JsonForm audit_form();
JsonForm check_form();
JsonForm choose_form();
JsonForm compare_form();
JsonForm convention_form();
JsonForm coordinates_form();
JsonForm deepnorm_form();
JsonForm devices_form();
JsonForm explain_form();
JsonForm help_form();
JsonForm import_form();
JsonForm init_form();
JsonForm list_form();
JsonForm presets_form();
JsonForm propagate_form();
JsonForm report_form();
JsonForm schema_form();
JsonForm solve_form();
JsonForm sweep_form();
JsonForm table_form();
JsonForm train_form();
JsonForm transfer_form();
JsonForm verify_form();

/// What more than one command prints.
namespace forms {
/// Every model's name and kind.
Keys model();
/// Fields of a model that is no list of layers; `may_miss` where lists of layers are taken too.
Keys fields(bool may_miss);
Shape assumptions();
/// Of propagate by any engine but symbolic, whose results are others.
Shape propagation_inputs();
Keys propagation_results();
/// One value for each depth, with its draws.
Shape points();
/// Of train and report, one for each placement and depth.
Keys cells();
Shape differences();
}  // namespace forms

}  // namespace scalecalc::cli
