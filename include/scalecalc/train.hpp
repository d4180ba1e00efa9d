#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scalecalc/forecast.hpp"
#include "scalecalc/network.hpp"
#include "scalecalc/optimizers.hpp"
#include "scalecalc/verify.hpp"

/// The placement experiment: language models that differ in where their norms stand and in nothing
/// else, trained at several depths and seeds. What is trained is kept in a folder as it comes; the
/// same call on the same folder goes on where the last one ended, bit for bit.
namespace scalecalc {

// ---- the text -----------------------------------------------------------------------------------

enum class TokenLevel { word, byte, bpe };
/// "word", "byte", "bpe".
const std::vector<std::string>& token_level_names();
/// Throws Error(input) with the nearest name.
TokenLevel token_level_from(std::string_view name, const std::string& where = "--level");

/// What is learned of a text: the token that follows, by one stack; or, by an encoder that reads a
/// sequence of it and its decoder, to say the sequence again or from its end.
enum class TrainTask { next, copy, reverse };
/// "next", "copy", "reverse".
const std::vector<std::string>& train_task_names();
/// Throws Error(input) with the nearest name.
TrainTask train_task_from(std::string_view name, const std::string& where = "--task");

/// A text as token ids, 0 .. vocab - 1, in two parts.
struct Corpus {
  std::string name, description, license;
  std::vector<std::int32_t> train, validation;
  std::vector<std::string> words;  ///< by id
  double unigram_entropy = 0;      ///< nats a token: what frequencies alone leave to guess
  /// Nats a token that no model can go below on average; known where the text is generated.
  std::optional<double> entropy;
  double collision = 0;           ///< chance that two tokens are equal
  std::uint64_t fingerprint = 0;  ///< of the ids
  /// Of validation: bytes of the text a token stands for, 0 where it is none; and the share of
  /// tokens that are <unk>, of whose letters nothing is guessed.
  double bytes_per_token = 0, unknown = 0;
  TrainTask task = TrainTask::next;
  TokenLevel level = TokenLevel::word;  ///< what a token is
  /// Of bpe: of all in the tokenizer's file that tokens depend on; 0: there is none.
  std::uint64_t tokenizer = 0;
  std::int64_t vocab() const { return static_cast<std::int64_t>(words.size()); }
};
/// Sentences of a small grammar, drawn by Philox: nothing has to be downloaded. A noun phrase is a
/// determiner, adjectives, a noun and at times a prepositional phrase; the verb agrees in number
/// with the first noun, however far back that stands; words of a kind follow Zipf's law. `tokens`:
/// 100..1e8, a tenth of them for validation.
Corpus generated_corpus(std::int64_t tokens, std::uint64_t seed = 0);
/// Symbols that are drawn by Philox, all alike and independent: only the source says what is asked.
/// Behind them word 0, <start>, which a decoder begins with. `tokens` as above, `symbols`
/// 2..1e6.
Corpus symbol_corpus(TrainTask task, std::int64_t tokens, std::int64_t symbols,
                     std::uint64_t seed = 0);
/// Perplexity per byte, exp(loss/bytes_per_token): texts in other tokens compare. NaN where a token
/// is no number of bytes.
double perplexity_per_byte(double loss, double bytes_per_token);
/// Text files, and all files of folders, in the order of their names, but those that begin with a
/// dot; at most 1 GiB in 10000 files, one after the other, each with an end of its last line. Words
/// are what stands between white space, and <eos> at each end of a line; those that are not among
/// the `vocab` - 1 most frequent are <unk>. Bytes are their own ids. The last tenth is for
/// validation. Throws Error(input).
Corpus read_corpus(const std::vector<std::string>& paths, TokenLevel level,
                   std::int64_t vocab = 10000);
/// The same in the tokens of a tokenizer.json of the library tokenizers, byte-level BPE as GPT-2
/// has it, as that library encodes all of the text at once without special tokens around it. Throws
/// Error(input) that names the field for a file that asks for anything else, and for a text that is
/// not UTF-8.
Corpus tokenized_corpus(const std::vector<std::string>& paths, const std::string& tokenizer);
/// The same text in the words of another: those that it lacks are <unk>. What words alone leave to
/// guess is measured anew. Throws Error(input) where tokens are of another level or task, and for a
/// word that the other lacks where it has no <unk> either.
Corpus in_words_of(const Corpus& other, Corpus corpus);

// ---- the experiment -----------------------------------------------------------------------------

/// One way to build the model: a placement, what its scales are, and where dropout stands.
struct TrainGroup {
  std::string name;  ///< "post", "deepnorm", "post@input+branch", ...
  std::string title;
  Placement placement = Placement::post;
  /// Formulas in N; empty: solved for the optimizer.
  std::optional<Expr> alpha = Expr(1), lambda = Expr(1);
  bool residual_attention = false;
  /// x + a F(x), a growing from 0 to 1 over the first steps: not trained, and the same in all
  /// branches.
  bool ramp = false;
  std::optional<DropoutPlaces> dropout_place = {};  ///< empty: the shared model's
};
/// none post pre deepnorm deepnet res-post sandwich sub-ln resi-dual rezero skipinit fixup
/// branchnorm realformer.
const std::vector<TrainGroup>& train_groups();
/// One of those; with +ramp behind its name one whose branches have a ramp; with places of dropout
/// behind an @: "pre+ramp@input+branch". Throws Error(input) with the nearest name, and for a ramp
/// of what has one already, or branches with a scalar that is trained.
TrainGroup train_group(std::string_view name, const std::string& where = "--placements");

struct Pretrained;  // pretrained.hpp

struct TrainOptions {
  /// What all groups share; layers, placement, alpha and lambda are set by group and depth, and
  /// dropout_place by groups that have one; vocab by the corpus. Throws where it is no transformer.
  ModelSpec model;
  OptimizerOptions optimizer;
  std::vector<std::string> groups;
  std::vector<std::int64_t> depths;
  int seeds = 3;  ///< 1..1000: seed, seed + 1, ...
  std::uint64_t seed = 0;
  std::int64_t steps = 0;   ///< 1..1e9, of each run
  std::int64_t epochs = 0;  ///< where steps is 0: as many as the training text has, times this
  std::int64_t record_every = 100;  ///< steps, 1..1e9
  int validation_batches = 8;       ///< 1..1e6, the same at each record
  /// Over which a ramp grows to 1; 0: a tenth of the steps.
  std::int64_t ramp_steps = 0;
  /// Validation loss, nats a token, whose first step is looked for; 0: 19/20 of the text's
  /// unigram_entropy, below which a run counts as converged. It changes no file of a run.
  double target_loss = 0;
  int threads = 1;
  std::string device = "cpu";
  bool recompute = false;
  std::string folder;  ///< made when it is not there
  /// Keep the weights that a run ends with, for read_pretrained(). A run that has ended without
  /// them is trained again against its own log. It changes no number.
  bool keep_weights = false;
  /// Each run begins with the weights that the same group, depth and seed of this folder ended
  /// with, and with the model of that run: batch and rates of dropout alone may be others, and a
  /// ramp stays where it ended. The corpus is to be in its words (in_words_of()).
  std::shared_ptr<const Pretrained> pretrained = {};
  std::function<void(const PassWork&)> expect = {};  ///< called once, before the first step
  Ranks* ranks = nullptr;  ///< that share the runs; the folder is one that all of them see
  Progress progress;
};
/// "full": d 512, 8 heads, ffn 2048, GELU, dropout 0.1, batch 32, T 128, AdamW at 5e-4 without a
/// warm-up, 20 epochs, 12/32/64 layers. "small": the same question for two CPU cores and some
/// minutes. Throws Error(input) with the nearest name.
TrainOptions train_profile(std::string_view name);
const std::vector<std::string>& train_profile_names();

/// The model of a group at a depth; a ramp as it is at the first step, but that of branchnorm.
/// Throws as build_network and solve_scales do, and where a group has a place of dropout and the
/// rate is 0.
ModelSpec train_model(const TrainOptions& options, const TrainGroup& group, std::int64_t layers,
                      const Corpus& corpus);
/// The steps of each run, and those of a ramp.
std::int64_t train_steps(const TrainOptions& options, const Corpus& corpus);
std::int64_t ramp_steps(const TrainOptions& options, const Corpus& corpus);

/// The loss that steps are counted to.
double train_target(const TrainOptions& options, const Corpus& corpus);

/// A key of the configuration in which a group is not as the first one.
struct GroupDifference {
  std::string group, key, value, reference;  ///< "default": the key is left out
};
/// Every difference between the model files of the groups at their first depth; that nothing but
/// placement, alpha, lambda, residual_attention, dropout_place and the ramp is among them is what
/// makes the comparison one.
std::vector<GroupDifference> train_differences(const TrainOptions& options, const Corpus& corpus);

/// Norms of gradients by layer: "embedding", "block[0]", ..., "head".
struct LayerNorms {
  double total = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::string> layers;
  std::vector<double> norms;
};

struct TrainRecord {
  std::int64_t step = 0;
  double loss = 0;  ///< mean training loss since the record before, nats a token
  LayerNorms gradient;
  double update_ratio = 0;     ///< |dtheta|/|theta|, root mean square over matrices
  double validation_loss = 0;  ///< after the step, without dropout
  /// Scalars in front of branches that are trained (ReZero, SkipInit), after the step, by path:
  /// "block[0].attn.scale".
  std::vector<std::pair<std::string, double>> scales = {};
  /// Of a run that begins with trained weights: validation loss on the text of those.
  std::optional<double> pretraining_loss = {};
};

/// What a run began with that goes on from trained weights.
struct TrainStart {
  std::string text;        ///< that the weights were trained on
  std::int64_t steps = 0;  ///< of that training
  double final_loss = 0;   ///< that it ended with, of validation on its text, nats a token
  /// Before the first step here, of validation: on this text, and on the earlier one.
  double loss = std::numeric_limits<double>::quiet_NaN();
  double pretraining_loss = std::numeric_limits<double>::quiet_NaN();
};

/// What is known before the first step.
struct TrainPrediction {
  LayerNorms gradient;
  double loss_change = std::numeric_limits<double>::quiet_NaN();  ///< of one step, to first order
  std::string why_none;
  /// Of the model with its branches open: a ramp at its end.
  std::optional<ForecastSigns> signs = {};
  RunLength length = {};
};

/// That the run converges, as it is known before its first step; nothing of weights that are
/// trained already, and of logs that have no signs.
std::optional<Forecast> forecast(const TrainPrediction& prediction);
struct TrainRun;
/// Of the runs that have a forecast.
std::vector<ForecastOutcome> forecast_outcomes(const std::vector<TrainRun>& runs);

/// nan: a loss that is no number. explosion: the gradient's norm ended above 1e3, or the validation
/// loss above 1.1 ln(vocab), a guess's. converged: it ended at least a twentieth below the entropy
/// of single words, so that context is used. Of the others, vanishing: the norm in some block ended
/// below 1e-3; stall: it did not.
enum class TrainVerdict { converged, stall, vanishing, explosion, nan };
std::string to_string(TrainVerdict verdict);

/// Where a run stands in a grid (tuning.hpp).
struct GridPlace {
  std::int64_t width = 0;                              ///< 0: the run is of no grid
  std::vector<std::pair<std::string, double>> values;  ///< by key
};

struct TrainRun {
  std::string group;
  std::int64_t layers = 0;
  std::uint64_t seed = 0;
  GridPlace place;
  TrainVerdict verdict = TrainVerdict::stall;
  std::int64_t steps = 0;  ///< taken
  double final_loss = 0;   ///< of validation, nats a token
  double perplexity = 0;   ///< its exponential
  /// The first record at or below the target loss; empty: none was.
  std::optional<std::int64_t> steps_to_target;
  TrainPrediction prediction;  ///< of drawn weights alone: of others there is none
  std::optional<TrainStart> start = {};
  std::vector<TrainRecord> records;  ///< of step 1, of every multiple of record_every, of the last
  std::string remark;  ///< of its Passes, where it was trained by this call, or of its log
};
/// The verdict on what was recorded.
TrainVerdict judge(const std::vector<TrainRecord>& records, std::int64_t vocab,
                   double unigram_entropy);
/// Of the first record whose validation loss is at most `loss`.
std::optional<std::int64_t> steps_to_loss(const std::vector<TrainRecord>& records, double loss);
/// The same of a run: 0 where it began at or below it.
std::optional<std::int64_t> steps_to_loss(const TrainRun& run, double loss);

/// How a run went on its way, by its records; NaN where it has no number.
struct TrainCourse {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double loss = kNone;  ///< of training, mean of the steps since the record before the last, nats
  /// All that the validation loss rose from one record to the next, added up, nats: 0 of a loss
  /// that only falls. Its batches are the same at each record, so that no draw of them is in it.
  double rises = kNone;
  double gradient_least = kNone, gradient_most = kNone;  ///< norm of the whole gradient
  double block_least = kNone, block_most = kNone;        ///< that of a block
};
TrainCourse course_of(const std::vector<TrainRecord>& records);

/// Trains what is not finished, in the order of groups, depths and seeds. Several runs go at once
/// where one would not fill the threads; the bits do not depend on it. Of each run the folder keeps
/// an append-only log, one line a record, and until it is done a checkpoint. Throws Error(input)
/// for options out of range, a folder of another experiment, a damaged file; Error(fault) for a
/// write that fails, and when progress stops it: what was reached is then kept. Of several ranks
/// each trains runs of its own, rank 0 returns them all, the others nothing.
std::vector<TrainRun> train(const Corpus& corpus, const TrainOptions& options);

/// The records of a run as an event file of TensorBoard: losses, perplexity, the update ratio and
/// gradient norms as scalars by step. It has no times but the steps: the same run, the same bytes.
std::string tensorboard_events(const TrainRun& run);
/// Those of each run, in FOLDER/GROUP-LAYERS-seedSEED/. Throws Error(fault).
void write_tensorboard(const std::vector<TrainRun>& runs, const std::string& folder);

/// The runs of one group at one depth.
struct TrainCell {
  std::string group;
  std::int64_t layers = 0;
  int runs = 0, converged = 0;
  std::vector<std::string> verdicts;  ///< in the order of the seeds
  /// Of the final validation loss over the runs where it is finite; errors are NaN for fewer than
  /// two.
  double loss = 0, loss_error = 0, perplexity = 0, perplexity_error = 0;
  int reached = 0;  ///< runs that came to the target loss
  /// The median over all runs, those that did not reach it as the slowest; NaN where it is one of
  /// them.
  double steps_to_target = std::numeric_limits<double>::quiet_NaN();
};
std::vector<TrainCell> train_table(const std::vector<TrainRun>& runs);

// ---- what a folder holds ------------------------------------------------------------------------

/// An experiment as its folder tells it, finished or not, even while it is being trained.
struct TrainFolder {
  /// Those that have begun, in the order of train_groups(), places of dropout, depths, widths,
  /// values of a grid and seeds.
  std::vector<TrainRun> runs;
  /// Run by run. The verdict of one that is not is that on what it has recorded.
  std::vector<bool> finished;
  std::int64_t steps = 0, record_every = 0, validation_batches = 0;
  OptimizerOptions optimizer;
  std::string model;  ///< the model file of the first run
  /// Model files by placement and depth, of the first run of each.
  std::map<std::pair<std::string, std::int64_t>, std::string> models;
  std::string tuning;  ///< what a grid's runs have in common (tuning.hpp); empty: it is none
  /// Every key in which a group's model file is not as the first group's.
  std::vector<GroupDifference> differences;
  std::string text, description, license;  ///< of the corpus; the last two may be unknown: empty
  std::int64_t tokens = 0, vocab = 0;
  /// NaN where they are unknown.
  double unigram_entropy = std::numeric_limits<double>::quiet_NaN();
  double entropy = std::numeric_limits<double>::quiet_NaN();
  double bytes_per_token = 0;  ///< 0 where it is unknown
  double unknown = 0;          ///< share of validation's tokens that are <unk>
};
/// Only reads. The target loss of the runs is `target_loss`; 0: what train_target() has without
/// one. Throws Error(input) for what is no folder of train(), for a damaged file, and where the
/// runs are not of one experiment: they may differ in group, depth and seed alone.
TrainFolder read_train(const std::string& folder, double target_loss = 0);
/// The loss that the runs' steps are counted to; NaN where nothing says it.
double train_target(const TrainFolder& folder, double target_loss = 0);

}  // namespace scalecalc
