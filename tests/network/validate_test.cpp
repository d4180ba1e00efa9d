#include <fmt/format.h>

#include "problem.hpp"

using namespace scalecalc;
using namespace scalecalc::testing;

TEST_CASE("the defaults of both kinds are valid") {
  CHECK_NOTHROW(validate(default_spec(ModelSpec::Kind::transformer)));
  CHECK_NOTHROW(validate(default_spec(ModelSpec::Kind::mlp)));
  CHECK_NOTHROW(validate(ModelSpec{}));
}

TEST_CASE("sizes have bounds") {
  const auto mlp = ModelSpec::Kind::mlp;
  CHECK(problem([](ModelSpec& s) { s.layers = 0; }) == "layers must be from 1 to 1000000, got 0");
  CHECK(problem([](ModelSpec& s) { s.layers = 1000001; }) ==
        "layers must be from 1 to 1000000, got 1000001");
  CHECK(problem([](ModelSpec& s) { s.layers = 1000000; }).empty());
  CHECK(problem([](ModelSpec& s) { s.width = -3; }) == "width must be from 1 to 1000000, got -3");
  CHECK(problem([](ModelSpec& s) { s.heads = 0; }) == "heads must be from 1 to 1000000, got 0");
  CHECK(problem([](ModelSpec& s) { s.ffn = 0; }) == "ffn must be from 1 to 1000000, got 0");
  CHECK(problem([](ModelSpec& s) { s.vocab = 0; }) == "vocab must be from 1 to 1000000, got 0");
  CHECK(problem([](ModelSpec& s) { s.vocab = 0; }, mlp) ==
        "classes must be from 1 to 1000000, got 0");
  CHECK(problem([](ModelSpec& s) { s.features = 0; }, mlp) ==
        "features must be from 1 to 1000000, got 0");
  CHECK(problem([](ModelSpec& s) { s.sequence = 0; }) ==
        "sequence must be from 1 to 1000000, got 0");
  CHECK(problem([](ModelSpec& s) {
          s.batch = std::numeric_limits<std::int64_t>::max();
        }).starts_with("batch must be from 1 to 1000000"));
  CHECK(problem([](ModelSpec& s) { s.heads = 0; }, mlp).empty());
}

TEST_CASE("the decoder of two stacks has a depth and scales of its own") {
  const auto two = [](const char* layers, const char* alpha = "alpha") {
    return problem([&](ModelSpec& s) {
      s.encoder_decoder = true;
      s.decoder_layers = parse(layers);
      s.decoder_alpha = parse(alpha);
    });
  };
  CHECK(two("N/3").empty());
  CHECK(two("N/100").empty());  // one layer at least
  const std::string range = "decoder_layers must be a whole number from 1 to 1000000, got ";
  CHECK(two("0") == range + "0");
  CHECK(two("-2") == range + "-2");
  CHECK(two("2 - N") == range + "-10");
  CHECK(two("5/2") == range + "2.5");
  CHECK(two("1000001") == range + "1000001");
  CHECK(two("N", "0") == "decoder_alpha must be finite and positive, got 0");
  CHECK(two("N", "M - N") == "decoder_alpha must be finite and positive, got 0");
  CHECK(problem([](ModelSpec& s) {
          s.encoder_decoder = true;
          s.norm = NormKind::instancenorm;
          s.memory.sequence = 1;
        }) == "instancenorm of a single sample is always 0");
  CHECK(problem([](ModelSpec& s) { s.alpha = parse("M"); }).find("M") != std::string::npos);
}

TEST_CASE("a router chooses among experts that there are") {
  CHECK(problem([](ModelSpec& s) { s.experts = 4; }).empty());
  CHECK(problem([](ModelSpec& s) { s.experts = 1000000; }) ==
        fmt::format("all blocks together have at most 262144 experts (experts 1000000, layers {})",
                    ModelSpec().layers));
  CHECK(problem([](ModelSpec& s) { s.experts = 1; }) ==
        "top_k is at most the number of experts (top_k 2, experts 1)");
  for (const Change& given :
       {Change([](ModelSpec& s) { s.expert_ffn = 8; }), Change([](ModelSpec& s) { s.top_k = 1; }),
        Change([](ModelSpec& s) { s.norm_topk_prob = false; }),
        Change([](ModelSpec& s) { s.shared_ffn = 8; })})
    CHECK(problem(given).ends_with("is of a mixture of experts, and this model has one ffn"));
  CHECK(problem([](ModelSpec& s) {
          s.experts = 4;
          s.shared_gate = true;
        }) == "shared_gate multiplies a shared expert, and there is none");
}

TEST_CASE("class tokens are of one gaussian stack without a mask") {
  const auto refused = [](const Change& change) {
    return problem([&](ModelSpec& s) {
      s.class_tokens = 1;
      s.input.class_std = 0.5;
      change(s);
    });
  };
  CHECK(refused([](ModelSpec&) {}).empty());
  CHECK(refused([](ModelSpec& s) {
          s.class_tokens = s.sequence;
        }).starts_with("class_tokens are part of the sequence"));
  CHECK(refused([](ModelSpec& s) {
          s.input.kind = InputKind::tokens;
        }).starts_with("class_tokens stand in front of a gaussian input"));
  CHECK(refused([](ModelSpec& s) { s.causal = true; }).find("a mask hides") != std::string::npos);
  CHECK(refused([](ModelSpec& s) { s.cross_attention = true; }).find("one stack") !=
        std::string::npos);
  CHECK(refused([](ModelSpec& s) { s.encoder_decoder = true; }).find("one stack") !=
        std::string::npos);
  CHECK(refused([](ModelSpec& s) { s.rotary_base = 100; }).find("rotary") != std::string::npos);
  CHECK(refused([](ModelSpec& s) { s.norm = NormKind::batchnorm; }).find("unlike") !=
        std::string::npos);
  const auto zero = [&](double eps, double positions) {
    return refused([=](ModelSpec& s) {
      s.input.class_std = 0;
      s.norm_eps = eps;
      s.input.positions = positions;
    });
  };
  CHECK(zero(0, 0) == "class_tokens that are 0 have nothing that a norm could divide");
  CHECK(zero(1e-6, 0).empty());
  CHECK(zero(0, 0.1).empty());
  CHECK(problem([](ModelSpec& s) { s.pool = Pooling::class_token; }) ==
        "pool = \"class\" reads the first class token, and there is none");
  CHECK(problem([](ModelSpec& s) { s.input.class_std = 1; }) ==
        "class_std is of class tokens, and there are none");
  CHECK(problem([](ModelSpec& s) {
          s.input.kind = InputKind::tokens;
          s.input.patch = 8;
        }) == "patch is of the gaussian input of one stack");
}

TEST_CASE("frames are of an encoder beside a decoder of tokens") {
  const auto refused = [](const auto& change) {
    return problem([&](ModelSpec& s) {
      s.encoder_decoder = true;
      s.input.kind = InputKind::tokens;
      s.memory.features = 4;
      change(s);
    });
  };
  CHECK(refused([](ModelSpec&) {}).empty());
  CHECK(refused([](ModelSpec& s) { s.tie_head = true; }).empty());
  CHECK(refused([](ModelSpec& s) { s.encoder_decoder = false; }).starts_with("features of the"));
  CHECK(refused([](ModelSpec& s) {
          s.input.kind = InputKind::gaussian;
        }).starts_with("features of the memory are of an encoder's frames"));
  CHECK(refused([](ModelSpec& s) { s.memory.conv_kernel = 4; }) ==
        "conv_kernel must be odd and at most 1001, got 4");
  CHECK(refused([](ModelSpec& s) { s.memory.conv_kernel = 1003; }).starts_with("conv_kernel must"));
  for (const char* wrong :
       {"", "0", "1 x", "1,2", "17", "-1", "1.5", "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"})
    CHECK(refused([&](ModelSpec& s) {
            s.memory.conv_strides = wrong;
          }).starts_with("conv_strides must be positive numbers"));
  CHECK(refused([](ModelSpec& s) { s.memory.sequence = 1000000; }) ==
        "an encoder may read at most 1000000 frames");
  CHECK(refused([](ModelSpec& s) {
          s.memory.sinusoids = true;
          s.width = 63;
          s.heads = 3;
        }) == "sinusoids are pairs of a sine and a cosine (width 63)");
  CHECK(problem([](ModelSpec& s) { s.memory.conv_kernel = 5; }) ==
        "conv_kernel is of frames that an encoder reads, and there are none");
  CHECK(
      problem([](ModelSpec& s) { s.memory.conv_strides = "2"; }).starts_with("conv_strides is of"));
  CHECK(problem([](ModelSpec& s) { s.memory.sinusoids = true; }).starts_with("sinusoids is of"));
}

TEST_CASE("fixed positions are of a square grid of patches") {
  const auto of_grid = [](const Change& change) {
    return problem([&](ModelSpec& s) {
      s.input.sinusoids = true;
      s.sequence = 16;
      change(s);
    });
  };
  CHECK(of_grid([](ModelSpec&) {}).empty());
  CHECK(of_grid([](ModelSpec& s) { s.sequence = 15; }) ==
        "sinusoids are of a square grid, and 15 patches are none");
  CHECK(of_grid([](ModelSpec& s) {
          s.width = s.heads = 6;
        }).starts_with("sines and cosines of rows"));
  CHECK(of_grid([](ModelSpec& s) { s.input.positions = 1; }).starts_with("sinusoids stand in"));
  CHECK(of_grid([](ModelSpec& s) {
          s.class_tokens = 1;
          s.input.class_std = 1;
        }).starts_with("class tokens have no place"));
  CHECK(of_grid([](ModelSpec& s) {
          s.input.kind = InputKind::tokens;
        }).starts_with("sinusoids are "));
}

TEST_CASE("a narrow embedding is of the tokens of one stack") {
  const auto refused = [](const auto& change) {
    return problem([&](ModelSpec& s) {
      s.input.kind = InputKind::tokens;
      s.input.embedding_width = 8;
      change(s);
    });
  };
  CHECK(refused([](ModelSpec&) {}).empty());
  CHECK(refused([](ModelSpec& s) { s.encoder_decoder = true; }) ==
        "embedding_width is of one stack");
  CHECK(refused([](ModelSpec& s) { s.input.kind = InputKind::gaussian; }) ==
        "embedding_width belongs to tokens, and the input is gaussian");
  CHECK(
      refused([](ModelSpec& s) { s.tie_head = true; }).starts_with("tie_head shares a matrix of"));
  CHECK(refused([](ModelSpec& s) { s.tie_head = s.head_transform = true; }).empty());
  CHECK(refused([](ModelSpec& s) { s.input.embedding_width = 1; }) ==
        "layernorm of a single feature is always 0");
}

TEST_CASE("norms of branches are of parallel blocks that have norms in them") {
  CHECK(problem([](ModelSpec& s) {
          s.placement = Placement::pre;
          s.branch_norms = true;
        }).starts_with("branch_norms is of parallel blocks"));
  for (const std::string& name : placement_names()) {
    CAPTURE(name);
    const auto change = [&](bool branch_norms) {
      return problem([&](ModelSpec& s) {
        s.placement = placement_from(name);
        s.parallel = true;
        s.branch_norms = branch_norms;
      });
    };
    CHECK(change(false).empty());
    const bool has_norms = name == "pre" || name == "res-post" || name == "sandwich" ||
                           name == "sub-ln" || name == "ngpt";
    CHECK(change(true).empty() == has_norms);
  }
}

TEST_CASE("placements get the norms and the skip that they need") {
  CHECK(problem([](ModelSpec& s) { s.norm = NormKind::none; }) ==
        "placement post needs a norm, and norm is none");
  CHECK(problem([](ModelSpec& s) {
          s.norm = NormKind::none;
          s.placement = Placement::none;
        }).empty());
  CHECK(problem([](ModelSpec& s) { s.placement = Placement::pre; }, ModelSpec::Kind::mlp) ==
        "placement pre needs a norm, and norm is none");
  CHECK(problem(
            [](ModelSpec& s) {
              s.placement = Placement::sub_ln;
              s.norm = NormKind::rmsnorm;
            },
            ModelSpec::Kind::mlp)
            .starts_with("placement sub-ln norms before an output projection"));
  CHECK(problem([](ModelSpec& s) {
          s.placement = Placement::sub_ln;
          s.alpha = 2;
        }) == "alpha has nothing to multiply in a transformer of placement sub-ln, got 2");
  CHECK(problem([](ModelSpec& s) { s.alpha = 2; }, ModelSpec::Kind::mlp) ==
        "alpha has nothing to multiply in an mlp of placement none, got 2");
  CHECK(problem([](ModelSpec& s) { s.alpha.reset(); }).empty());
}

TEST_CASE("numbers are finite and in range") {
  for (const double bad : {-1.0, inf, not_a_number}) {
    CAPTURE(bad);
    CHECK(problem([&](ModelSpec& s) { s.norm_eps = bad; }).starts_with("norm_eps must be finite"));
    CHECK(problem([&](ModelSpec& s) {
            s.input.second = bad;
          }).starts_with("input.second must be finite"));
    CHECK(problem([&](ModelSpec& s) { s.input.cross = bad; }).starts_with("cross must be from 0"));
    CHECK(problem([&](ModelSpec& s) {
            s.init.bias_variance = bad;
          }).starts_with("init.bias_variance must be finite"));
    CHECK(problem([&](ModelSpec& s) {
            s.init.scheme = "std";
            s.init.std = bad;
          }).starts_with("init.scheme.std must be finite"));
    CHECK(problem([&](ModelSpec& s) {
            s.init.scheme = "weight_variance";
            s.init.weight_variance = bad;
          }).starts_with("init.weight_variance must be finite"));
  }
  // Squares of numbers that are larger or smaller are no numbers.
  CHECK(problem([](ModelSpec& s) { s.alpha = pow(Expr(10), Expr(61)); }) ==
        "alpha must be at most 1e+60, got 1e+61");
  CHECK(problem([](ModelSpec& s) { s.alpha = pow(Expr(10), Expr(60)); }).empty());
  CHECK(problem([](ModelSpec& s) { s.lambda = pow(Expr(10), Expr(300)); }) ==
        "lambda must be at most 1e+60, got 1e+300");
  CHECK(problem([](ModelSpec& s) { s.lambda = pow(Expr(10), Expr(-61)); }) ==
        "lambda must be at least 1e-60, got 1e-61");
  CHECK(problem([](ModelSpec& s) { s.norm_eps = 1e300; }) ==
        "norm_eps must be at most 1e+60, got 1e+300");
  CHECK(problem([](ModelSpec& s) { s.input.second = 5e-324; }) ==
        "input.second must be at least 1e-60, got 5e-324");
  CHECK(problem([](ModelSpec& s) { s.input.second = 1e-60; }).empty());
  CHECK(problem([](ModelSpec& s) {
          s.init.scheme = "std";
          s.init.std = 1e-300;
        }) == "init.scheme.std must be at least 1e-60, got 1e-300");
  CHECK(problem([](ModelSpec& s) { s.input.cross = 1; }).empty());
  CHECK(problem([](ModelSpec& s) { s.input.cross = 1.5; }) ==
        "cross must be from 0 to second = 1, got 1.5");
  CHECK(problem([](ModelSpec& s) { s.init.bias_variance = 1; }) ==
        "bias_variance is given but the model has no biases");
}

TEST_CASE("fields belong to the models that use them") {
  CHECK(problem([](ModelSpec& s) { s.kv_heads = 3; }) ==
        "[attention] kv_heads must divide heads (kv_heads 3, heads 4)");
  CHECK(problem([](ModelSpec& s) { s.kv_heads = -1; }) ==
        "kv_heads must be from 1 to 1000000, got -1");
  for (const std::string& name : placement_names()) {
    CAPTURE(name);
    const auto ramped = [&name](ModelSpec& s) {
      s.placement = placement_from(name);
      s.ramp = 0.5;
    };
    const bool is_trained = name == "rezero" || name == "skipinit";
    CHECK(problem(ramped) ==
          (is_trained ? "branches of placement " + name + " grow by a scalar that is trained from 0"
                      : std::string()));
  }
  CHECK(problem([](ModelSpec& s) {
          s.layer_scale = 0.1;
          s.ramp = 0.5;
        }) == "a ramp and layer_scale both multiply the branches");
  CHECK(problem([](ModelSpec& s) {
          s = default_spec(ModelSpec::Kind::mlp);
          s.ramp = 0.5;
        }) == "a plain stack has no branches that a ramp could multiply");
  for (const double bad : {-0.5, 1.5, not_a_number})
    CHECK(problem([&](ModelSpec& s) { s.ramp = bad; }).starts_with("ramp must be from 0 to 1"));
  for (const double bad : {-0.5, 1.0, not_a_number}) {
    CHECK(
        problem([&](ModelSpec& s) { s.dropout = bad; }).starts_with("dropout must be at least 0"));
    CHECK(problem([&](ModelSpec& s) {
            s.attention_dropout = bad;
          }).starts_with("attention_dropout must be"));
    CHECK(problem([&](ModelSpec& s) { s.drop_path = bad; }).starts_with("drop_path must be"));
    CHECK(problem([&](ModelSpec& s) {
            s.drop_path = 0.1;
            s.placement = Placement::resi_dual;
          }).find("two streams of a dropped branch") != std::string::npos);
    const auto plain = [](ModelSpec& s) {
      s.drop_path = 0.1;
      s.placement = Placement::none;
    };
    CHECK(problem(plain, ModelSpec::Kind::mlp) ==
          "an mlp of placement none has no branches to drop");
  }
  const auto drops_at = [&](DropoutPlaces place, Placement placement, ModelSpec::Kind kind) {
    const auto change = [&](ModelSpec& s) {
      s.norm = NormKind::layernorm;
      s.placement = placement;
      s.dropout_place = place;
    };
    return problem(change, kind);
  };
  const auto transformer = ModelSpec::Kind::transformer, mlp = ModelSpec::Kind::mlp;
  const DropoutPlaces stream{.stream = true}, activation{.activation = true};
  CHECK(drops_at(stream, Placement::none, transformer).empty());
  CHECK(drops_at(stream, Placement::pre, mlp).empty());
  CHECK(drops_at(stream, Placement::none, mlp) ==
        "an mlp of placement none has no stream to drop from");
  for (const auto kind : {transformer, mlp})
    CHECK(drops_at(stream, Placement::resi_dual, kind) ==
          "placement resi-dual has two streams, and dropout_place stream means one");
  CHECK(drops_at(activation, Placement::resi_dual, transformer).empty());
  CHECK(drops_at(activation, Placement::pre, mlp)
            .starts_with("a branch of an mlp ends in its activation"));
  CHECK(drops_at({.branch = false}, Placement::pre, transformer) == "dropout_place names no place");
  CHECK(problem([](ModelSpec& s) { s.input.zipf = 1; }) ==
        "zipf belongs to tokens, and the input is gaussian");
  CHECK(problem([](ModelSpec& s) { s.input.positions = 1; }).empty());
  CHECK(problem([](ModelSpec& s) { s.input.positions = 1; }, mlp) ==
        "positions belongs to tokens, and the input is gaussian");
  CHECK(problem([](ModelSpec& s) { s.memory.cross = 2; }) ==
        "cross must be from 0 to second = 1, got 2");
  CHECK(problem([](ModelSpec& s) { s.memory.sequence = 0; }) ==
        "memory.sequence must be from 1 to 1000000, got 0");
  CHECK(problem([](ModelSpec& s) {
          s.target_second = -1;
        }).starts_with("loss.target_second must be finite"));
}

TEST_CASE("a norm has something to divide by") {
  CHECK(problem([](ModelSpec& s) { s.width = s.heads = 1; }) ==
        "layernorm of a single feature is always 0");
  CHECK(problem([](ModelSpec& s) {
          s.width = s.heads = 1;
          s.norm = NormKind::rmsnorm;
        }).empty());
  const auto over_samples = [](NormKind norm, std::int64_t sequence, std::int64_t batch) {
    return problem([=](ModelSpec& s) {
      s.norm = norm;
      s.sequence = sequence;
      s.batch = batch;
    });
  };
  CHECK(over_samples(NormKind::batchnorm, 1, 1) == "batchnorm of a single sample is always 0");
  CHECK(over_samples(NormKind::batchnorm, 1, 2).empty());
  CHECK(over_samples(NormKind::instancenorm, 1, 2) ==
        "instancenorm of a single sample is always 0");
  CHECK(over_samples(NormKind::instancenorm, 2, 1).empty());
}

TEST_CASE("alpha has no place where the scheme sets the scalars") {
  for (const Placement placement :
       {Placement::resi_dual, Placement::rezero, Placement::skipinit, Placement::fixup})
    CHECK(problem([=](ModelSpec& s) {
            s.placement = placement;
            s.alpha = 2;
          }).starts_with("alpha has nothing to multiply"));
}

TEST_CASE("formulas are checked at this depth") {
  CHECK(problem([](ModelSpec& s) {
          s.alpha = parse("12 - N");
        }).starts_with("alpha must be finite and positive"));
  CHECK(problem([](ModelSpec& s) {
          s.lambda = parse("log(N - 12)");
        }).starts_with("lambda must be finite and positive"));
  CHECK(problem([](ModelSpec& s) { s.lambda = parse("M"); }).starts_with("lambda: "));
  CHECK(problem([](ModelSpec& s) {
          s.attention_scale = parse("-1/width");
        }).starts_with("attention_scale must be finite and positive"));
  CHECK(problem([](ModelSpec& s) {
          s.init.gain["q"] = parse("-1");
        }).starts_with("init.gain.q must be finite and not negative"));
  CHECK(problem([](ModelSpec& s) { s.init.gain["ffn"] = 1; }).starts_with("unknown role 'ffn'"));
  CHECK(problem([](ModelSpec& s) { s.init.gain["q"] = 1; }, ModelSpec::Kind::mlp)
            .starts_with("unknown role 'q'"));
}

TEST_CASE("names are checked") {
  CHECK(problem([](ModelSpec& s) {
          s.activation = "gelo";
        }).starts_with("unknown activation 'gelo'"));
  CHECK(problem([](ModelSpec& s) { s.activation = "x*sigmoid(1.7*x)"; }).empty());
  CHECK(problem([](ModelSpec& s) { s.activation = "x"; }).empty());
  for (const char* bad : {"x*sigmod(x)", "1/(", "1/x", "x*y", "log(x)", " ", ""})
    CHECK_FALSE(problem([&](ModelSpec& s) { s.activation = bad; }).empty());
  CHECK(problem([](ModelSpec& s) {
          s.init.scheme = "lecunn";
        }).starts_with("unknown scheme 'lecunn'"));
  CHECK(problem([](ModelSpec& s) { s.init.scheme = "gpt2"; }, ModelSpec::Kind::mlp) ==
        "scheme gpt2 is defined by the parts of a transformer");
}

TEST_CASE("token input has the cross moment of its vocabulary") {
  CHECK(problem([](ModelSpec& s) { s.input.kind = InputKind::tokens; }).empty());
  CHECK(problem([](ModelSpec& s) {
          s.input.kind = InputKind::tokens;
          s.input.cross = 0.5;
        }).starts_with("cross of tokens follows from the vocabulary"));
  CHECK(problem([](ModelSpec& s) { s.input.kind = InputKind::tokens; }, ModelSpec::Kind::mlp) ==
        "an mlp reads gaussian inputs, not tokens");
}
