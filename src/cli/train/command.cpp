#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <tuple>

#include "cli/app.hpp"
#include "cli/model_options.hpp"
#include "cli/optimizer_option.hpp"
#include "cli/options.hpp"
#include "cli/plot_option.hpp"
#include "cli/standard_input.hpp"
#include "cli/train/document.hpp"
#include "cli/train/finetuning.hpp"
#include "cli/train/placements.hpp"
#include "cli/train/tuning.hpp"
#include "scalecalc/activation.hpp"

namespace scalecalc::cli {
namespace {

constexpr std::int64_t kMostSteps = 1'000'000'000;

/// The profile of the defaults, and the other.
constexpr char kProfile[] = "small", kLarger[] = "full";

struct TrainFlags {
  std::string profile = kProfile, model, placements, depths, seeds;
  std::string task, level, tokenizer, vocab, tokens;
  std::vector<std::string> text;
  std::string steps, epochs, record_every, validation_batches, ramp, target_loss, tensorboard;
  std::string optimizer, learning_rate, schedule, warmup, weight_decay, clip_norm, dropout,
      dropout_place;
  TuningFlags tuning;
  FinetuneFlags finetuning;
  PlotOption plot;
  ModelOptions block;

  void add_to(CLI::App* app);
};

void TrainFlags::add_to(CLI::App* app) {
  const Options add{app};
  const TrainOptions small = train_profile(kProfile), full = train_profile(kLarger);
  /// The values of both profiles: "(default 3; full: 5)".
  const auto defaults = [&](const auto& text_of) {
    const std::string here = text_of(small), there = text_of(full);
    return " (default " + here + (there == here ? "" : std::string("; ") + kLarger + ": " + there) +
           ")";
  };
  add.text("--profile", profile, {"PROFILE", train_profile_names},
           "small: two CPU cores, minutes, with the defaults told here; full: the experiment at "
           "its published size");
  add.text("--model", model, types::model(),
           "a transformer that all runs share: a preset, a model file, or - for one on standard "
           "input (default: the profile's)");
  add.text("--placements", placements, list_of({"P", group_names}),
           "none, post, pre, ... (scalecalc list groups); none+ramp: with a ramp; pre@input: with "
           "dropout there" +
               defaults([](const TrainOptions& of) {
                 return fmt::format("{}", fmt::join(of.groups, ","));
               }) +
               "; of --grid one at several sizes, or several, each at its best (default pre, or "
               "--model's)");
  add.text("--depths", depths, "N,...",
           "blocks: 12,32,64 or 2:32:x4" + defaults([](const TrainOptions& of) {
             return fmt::format("{}", fmt::join(of.depths, ","));
           }) + "; of --grid sizes as well (default: the first of these, or --model's)");
  add.text("--seeds", seeds, "S",
           "runs of each, from --seed on" +
               defaults([](const TrainOptions& of) { return std::to_string(of.seeds); }));
  add.text("--task", task, {"TASK", train_task_names},
           "next: the token that follows (default); copy, reverse: by an encoder and its decoder, "
           "of random symbols");
  add.repeated("--text", text, types::file(),
               "what is learned: a file, or a folder of files; again for more (default: generated "
               "sentences)");
  add.text("--level", level, {"LEVEL", {"word", "byte"}}, "of --text: word or byte (default word)");
  add.text("--tokenizer", tokenizer, types::file(),
           "tokens of --text by a tokenizer.json of Hugging Face: byte-level BPE as GPT-2's");
  add.text("--vocab", vocab, "V",
           "most words of --text, with <unk> for the others (default 10000); symbols of --task "
           "(default 16)");
  add.text("--tokens", tokens, "N", "length of the generated text (default 200000)");
  add.text("--steps", steps, "N", "steps of each run" + defaults([](const TrainOptions& of) {
                                    return of.steps > 0 ? std::to_string(of.steps)
                                                        : std::string("by --epochs");
                                  }));
  add.text("--epochs", epochs, "N",
           "the same in lengths of the training text" + defaults([](const TrainOptions& of) {
             return of.steps > 0 ? std::string("by --steps") : std::to_string(of.epochs);
           }));
  add.text("--record-every", record_every, "N",
           "steps between two records" +
               defaults([](const TrainOptions& of) { return std::to_string(of.record_every); }));
  add.text("--validation-batches", validation_batches, "N",
           "batches of each perplexity" + defaults([](const TrainOptions& of) {
             return std::to_string(of.validation_batches);
           }));
  add.text("--target-loss", target_loss, "L",
           "of validation, to count the steps to (default: what converged asks)");
  add.text("--ramp", ramp, "N",
           "steps in which a ramp grows to 1: branchnorm's, and that of none+ramp, pre+ramp, ... "
           "(default: a tenth)");
  add.text("--tensorboard", tensorboard, types::folder(),
           "the records as event files of TensorBoard, at the end");
  add.text("--dropout", dropout, "R",
           "of branches and attention weights" + defaults([](const TrainOptions& of) {
             return report::format_number(of.model.dropout) + " and " +
                    report::format_number(of.model.attention_dropout);
           }));
  add.text(
      "--dropout-place", dropout_place, "P,...",
      "each placement with dropout at each: input, branch, activation, stream, input+branch, ... "
      "(default: at the branch)");
  finetuning.add_to(app);
  plot.add_to(app);
  tuning.add_to(app);
  const Options of_optimizer{app, "Optimizer"};
  of_optimizer.text(
      "--optimizer", optimizer, {"OPTIMIZER", optimizer_names},
      "of all runs; muon+adamw: hidden matrices by the first, all else by the second; "
      "muon(ffn,o)+adamw: by role" +
          defaults([](const TrainOptions& of) { return of.optimizer.name; }));
  of_optimizer.text(
      "--lr,--learning-rate", learning_rate, "E",
      "of the optimizer, or of each: 0.02+0.003" + defaults([](const TrainOptions& of) {
        return report::format_number(of.optimizer.learning_rate);
      }));
  of_optimizer.text("--schedule", schedule, {"SCHEDULE", schedule_names},
                    alternatives(schedule_names()) + defaults([](const TrainOptions& of) {
                      return schedule_names()[static_cast<std::size_t>(of.optimizer.schedule.kind)];
                    }));
  of_optimizer.text("--warmup", warmup, "N", "steps over which the rate grows (default 0)");
  of_optimizer.text("--decay,--weight-decay", weight_decay, "W",
                    "of the optimizer" + defaults([](const TrainOptions& of) {
                      return report::format_number(of.optimizer.weight_decay);
                    }));
  of_optimizer.text("--clip-norm", clip_norm, "C",
                    "largest norm of the whole gradient (default: none)");
  // What the experiment sets itself, or asks for in its own way.
  std::vector<std::string> own = {
      "features",      "classes",        "vocab",           "dropout",
      "dropout_place", "ramp",           "cross_attention", "encoder_decoder",
      "decoder_alpha", "decoder_lambda", "modulation",      "input",
      "loss",          "target_second",  "reduction"};
  for (const ModelField& field : model_fields())
    if (field.section == "memory" || field.section == "condition") own.push_back(field.name);
  block.add_to(app, own, &small.model);
}

void set_integer(const char* option, const std::string& text, std::int64_t min, std::int64_t max,
                 const char* example, std::int64_t& value) {
  if (!text.empty()) value = parse_integer(option, text, min, max, example);
}
void set_number(const char* option, const std::string& text, double max, const char* example,
                double& value) {
  if (!text.empty()) value = parse_number(option, text, 0, max, example);
}

Schedule::Kind schedule_from(const std::string& text) {
  const std::vector<std::string>& names = schedule_names();
  parse_choice("--schedule", text, names);
  return static_cast<Schedule::Kind>(std::ranges::find(names, text) - names.begin());
}

class Experiment {
 public:
  Experiment(const TrainFlags& flags, Context& context) : flags_(flags), context_(context) {
    if (context.output_path() == "-") {
      throw Error(ErrorKind::usage, "-o DIR is missing", "scalecalc train",
                  "runs are kept in a folder: for example -o runs/");
    }
    flags.plot.check();
    answer_.profile = flags.profile;
    answer_.model = flags.model;
    answer_.finetune_from = flags.finetuning.from;
    options() = train_profile(flags.profile);
    options().folder = context.output_path();
    context.set_passes(options());
    flags.finetuning.apply_to(options());
    set_runs();
    set_model();
    refuse_idle();
    set_corpus();
    set_optimizer();
    set_grid();
    check_folder(options().folder, {".jsonl", ".checkpoint", ".weights", "corpus.json",
                                    "vocabulary.json", "results.json"});
    if (!answer_.grid) answer_.differences = train_differences(options(), answer_.corpus);
  }

  int run() {
    defer_interrupt();
    TrainOptions& trained = answer_.grid ? answer_.grid->train : options();
    trained.progress = [bar = context_.progress()](double done, const std::string& what) {
      if (bar) bar(done, what);
      return !was_interrupted();
    };
    try {
      answer_.runs = answer_.grid ? train_grid(answer_.corpus, *answer_.grid)
                     : answer_.axes.empty()
                         ? train(answer_.corpus, options())
                         : train_placement_grid(answer_.corpus, options(), answer_.axes);
    } catch (const Error&) {
      context_.clear_progress();
      if (!was_interrupted() || context_.ranks() != nullptr) throw;
      context_.note("interrupted; the same command goes on from here");
      return interrupted_code();
    }
    if (!context_.launch().is_first()) return 0;
    if (!flags_.tensorboard.empty()) write_tensorboard(answer_.runs, flags_.tensorboard);
    for (const std::string& remark : remarks_of(answer_.runs)) context_.note(remark);
    if (answer_.grid)
      answer_.tuned = tuning_answer(tuning_setup(answer_.corpus, *answer_.grid), answer_.runs,
                                    optimizer_text(options().optimizer),
                                    train_steps(options(), answer_.corpus));
    const report::Document document = train_document(answer_);
    const std::filesystem::path folder = options().folder;
    Output((folder / "results.json").string())
        .write(report::make_printer(report::Format::json)->print(document));
    context_.emit_to_stdout(document);
    if (flags_.plot.is_given()) flags_.plot.write(train_figure(answer_));
    return 0;
  }

 private:
  TrainOptions& options() { return answer_.options; }

  /// Its default placement and depth are those of one model.
  void set_grid() {
    if (!flags_.tuning.is_given()) return;
    if (flags_.placements.empty() && flags_.dropout_place.empty())
      options().groups = {flags_.model.empty() ? "pre" : group_of(options().model)};
    if (options().groups.size() > 1) {
      answer_.axes = placement_axes(flags_.tuning);
      refuse_set_twice(answer_.axes);
      return;
    }
    if (flags_.model.empty()) options().model.layers = options().depths.front();
    const std::vector<std::int64_t> depths =
        flags_.depths.empty() ? std::vector<std::int64_t>{} : options().depths;
    answer_.grid = tuning_options(flags_.tuning, options(), depths);
    refuse_set_twice(answer_.grid->grids);
    tuning_setup(answer_.corpus, *answer_.grid);
  }

  /// Numbers that the grid has.
  void refuse_set_twice(const std::vector<GridAxis>& grids) const {
    const OptimizerOptions& optimizer = answer_.options.optimizer;
    const bool has_second = !optimizer.rest.empty() || optimizer.name == "muon";
    const std::string rate = has_second ? "" : flags_.learning_rate;
    for (const auto& [key, option, text] : {std::tuple{"lr", "--lr", &rate},
                                            {"decay", "--decay", &flags_.weight_decay},
                                            {"warmup", "--warmup", &flags_.warmup},
                                            {"clip-norm", "--clip-norm", &flags_.clip_norm},
                                            {"dropout", "--dropout", &flags_.dropout}})
      if (!text->empty() && std::ranges::find(grids, key, &GridAxis::key) != grids.end())
        throw Error(ErrorKind::usage, fmt::format("--grid {} says it", key), option,
                    "leave it out");
  }

  void set_runs() {
    if (!flags_.placements.empty()) options().groups = parse_placements(flags_.placements);
    if (!flags_.dropout_place.empty())
      options().groups = with_places(options().groups, flags_.dropout_place);
    if (!flags_.depths.empty()) options().depths = parse_depths("--depths", flags_.depths);
    if (!flags_.seeds.empty()) {
      options().seeds = static_cast<int>(parse_integer("--seeds", flags_.seeds, 1, 1000, "3"));
    }
    set_integer("--steps", flags_.steps, 1, kMostSteps, "1000", options().steps);
    if (!flags_.epochs.empty()) {
      if (!flags_.steps.empty()) {
        throw Error(ErrorKind::usage, "--steps and --epochs say the same", "scalecalc train",
                    "give one of them");
      }
      options().steps = 0;
      set_integer("--epochs", flags_.epochs, 1, 1'000'000, "20", options().epochs);
    }
    set_integer("--record-every", flags_.record_every, 1, kMostSteps, "100",
                options().record_every);
    if (!flags_.validation_batches.empty()) {
      options().validation_batches = static_cast<int>(
          parse_integer("--validation-batches", flags_.validation_batches, 1, 1'000'000, "8"));
    }
    if (!flags_.target_loss.empty()) {
      options().target_loss = parse_number("--target-loss", flags_.target_loss, 1e-9, 1e6, "2.5");
    }
    set_integer("--ramp", flags_.ramp, 1, kMostSteps, "1000", options().ramp_steps);
  }

  /// Before the options that change it.
  void set_model() {
    if (!flags_.model.empty()) options().model = read_model_argument(flags_.model);
    flags_.block.apply_to(options().model);
    if (flags_.dropout.empty()) return;
    options().model.dropout = parse_number("--dropout", flags_.dropout, 0, 0.99, "0.1");
    if (!flags_.block.has("attention_dropout"))
      options().model.attention_dropout = options().model.dropout;
  }

  /// Options that would change nothing.
  void refuse_idle() const {
    const auto idle = [](const char* option, const std::string& given, bool has_effect,
                         const char* why, const char* hint) {
      if (!given.empty() && !has_effect) throw Error(ErrorKind::usage, why, option, hint);
    };
    if (!flags_.tuning.is_given()) flags_.tuning.refuse_idle();
    flags_.finetuning.refuse_contradictions(flags_.tuning, flags_.model, flags_.vocab, flags_.ramp);
    if (!flags_.tuning.widths.empty() && flags_.block.has("width"))
      throw Error(ErrorKind::usage, "--width and a list of the same are given", "--width",
                  "leave it out");
    idle("--target-loss", flags_.target_loss, !flags_.tuning.is_given(),
         "a grid compares the losses at the end", "leave it out");
    const bool reads = !flags_.text.empty();
    const bool of_symbols = task() != TrainTask::next;
    const auto has_ramp = [](const std::string& name) { return train_group(name).ramp; };
    idle("--ramp", flags_.ramp, std::ranges::any_of(answer_.options.groups, has_ramp),
         "none of the placements has a ramp",
         "leave it out, or name one with a ramp: --placements none,none+ramp");
    idle("--level", flags_.level, reads, "the text is generated, of words",
         "leave it out, or give --text FILE");
    idle("--tokenizer", flags_.tokenizer, reads, "the text is generated, of words",
         "leave it out, or give --text FILE");
    const bool has_words = flags_.tokenizer.empty();
    idle("--level", flags_.level, has_words || flags_.level == "bpe",
         "the tokenizer says the tokens", "leave it out, or leave --tokenizer out");
    idle("--vocab", flags_.vocab, has_words, "the words are the tokenizer's",
         "leave it out, or leave --tokenizer out");
    idle("--tokens", flags_.tokens, !reads, "the length of the text is that of --text",
         "leave it out, or leave --text out");
    idle("--vocab", flags_.vocab, reads || of_symbols, "the generated text has words of its own",
         "leave it out, or give --text FILE or --task copy");
    idle("--vocab", flags_.vocab, flags_.level != "byte", "bytes are 256",
         "leave it out, or use --level word");
  }

  /// What is learned: of trained weights by default what they learned.
  TrainTask task() const {
    const auto& pretrained = answer_.options.pretrained;
    if (flags_.task.empty()) return pretrained ? pretrained->corpus.task : TrainTask::next;
    return train_task_from(flags_.task);
  }

  void set_corpus() {
    answer_.corpus = read_text();
    if (const auto& pretrained = options().pretrained)
      answer_.corpus = in_words_of(pretrained->corpus, std::move(answer_.corpus));
  }

  Corpus read_text() const {
    const auto& pretrained = answer_.options.pretrained;
    const TokenLevel own = pretrained ? pretrained->corpus.level : TokenLevel::word;
    const TokenLevel level = flags_.level.empty() ? own : token_level_from(flags_.level);
    const bool of_symbols = task() != TrainTask::next;
    const std::string& name = train_task_names().at(static_cast<std::size_t>(task()));
    if (of_symbols && !flags_.text.empty())
      throw Error(ErrorKind::usage, "--task " + name + " draws its own symbols", "--text",
                  "leave --text out, or use --task next");
    if (!flags_.tokenizer.empty()) return tokenized_corpus(flags_.text, flags_.tokenizer);
    if (level == TokenLevel::bpe)
      throw Error(ErrorKind::usage, "the tokens are those of a tokenizer", "--text",
                  "give --tokenizer FILE too");
    const auto words = [&](const char* otherwise) {
      return parse_integer("--vocab", flags_.vocab.empty() ? otherwise : flags_.vocab, 1, 1'000'000,
                           otherwise);
    };
    // All words of the text are looked for among those that the weights know.
    if (!flags_.text.empty())
      return read_corpus(flags_.text, level, words(pretrained ? "1000000" : "10000"));
    const std::int64_t tokens = parse_integer(
        "--tokens", flags_.tokens.empty() ? "200000" : flags_.tokens, 100, 100'000'000, "200000");
    if (!of_symbols) return generated_corpus(tokens);
    return symbol_corpus(task(), tokens, pretrained ? pretrained->corpus.vocab() - 1 : words("16"));
  }

  /// One number for the whole; of a mixture also one for each, joined by + as the names are.
  void set_of_each(const char* option, const std::string& text, const char* example,
                   double OptimizerOptions::*member) {
    OptimizerOptions& optimizer = options().optimizer;
    if (optimizer.rest.empty()) return set_number(option, text, 1e6, example, optimizer.*member);
    const auto [first, second] = each_of_two(text);
    set_number(option, first, 1e6, example, optimizer.*member);
    set_number(option, second, 1e6, example, optimizer.rest.front().*member);
  }

  void set_optimizer() {
    OptimizerOptions& optimizer = options().optimizer;
    if (!flags_.optimizer.empty()) {
      const double rate = optimizer.learning_rate;
      const std::string before = optimizer_text(optimizer);
      optimizer = read_optimizer("--optimizer", flags_.optimizer);
      if (optimizer_text(optimizer) == before) optimizer.learning_rate = rate;
    }
    set_of_each("--learning-rate", flags_.learning_rate, "5e-4", &OptimizerOptions::learning_rate);
    set_of_each("--weight-decay", flags_.weight_decay, "0.01", &OptimizerOptions::weight_decay);
    set_number("--clip-norm", flags_.clip_norm, 1e12, "1", optimizer.clip_norm);
    if (!flags_.schedule.empty()) optimizer.schedule.kind = schedule_from(flags_.schedule);
    set_integer("--warmup", flags_.warmup, 0, kMostSteps, "100", optimizer.schedule.warmup);
    optimizer.schedule.steps = train_steps(options(), answer_.corpus);
    validate_training(optimizer);
  }

  const TrainFlags& flags_;
  Context& context_;
  TrainAnswer answer_;
};

Shared train_uses() {
  Shared uses = kPassesAlongPaths;
  uses.folder = true;
  return uses;
}

}  // namespace

void register_train(CLI::App& app, Context& context) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* command = add_command(
      app, context,
      {.name = "train",
       .summary = "train language models that differ in their placement alone, or one at several "
                  "sizes over a grid of learning rates",
       .examples = {"scalecalc train --depths 2 --placements post,pre --steps 20 --seeds 1 -o a",
                    "scalecalc train --grid lr=1e-3:1:x4 --widths 16,32 --parametrization mup "
                    "--steps 20 -o b"},
       .form = train_form,
       .uses = train_uses(),
       .runs_on = RunsOn::all},
      [&context, flags] { return Experiment(*flags, context).run(); });
  flags->add_to(command);
}

}  // namespace scalecalc::cli
