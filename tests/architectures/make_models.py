"""Makes models/: small configs of every architecture, and what Hugging Face transformers, torchvision
and timm make of them: each tensor's name, shape, mean and standard deviation.

usage: make_models.py [MODEL_TYPE...]   (with transformers 5.23, torch, torchvision 0.29 and timm 1.0;
all without an argument)
A file holds {"config": ..., "parameters": [[name, shape, mean, std], ...]}: the config as
save_pretrained writes it, the parameters of named_parameters(), each moment over SEEDS models.
"""
import json
import os
import sys

import torch
import transformers

HERE = os.path.dirname(os.path.abspath(__file__))
SEEDS = 4

# Sizes by the usual names; what a config calls otherwise is below.
DECODER = dict(vocab_size=96, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
               intermediate_size=80, max_position_embeddings=64)
GROUPED = dict(DECODER, num_key_value_heads=2)
TOWER = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=80,
             image_size=32, patch_size=8)
VISION = dict(TOWER, hidden_size=48)
SMALL = {
    "gpt2": [dict(vocab_size=96, n_embd=48, n_layer=2, n_head=4, n_positions=64)],
    "gpt_neo": [dict(vocab_size=96, hidden_size=48, num_layers=2, num_heads=4,
                     attention_types=[[["global", "local"], 1]], max_position_embeddings=64)],
    "gptj": [dict(vocab_size=96, n_embd=48, n_layer=2, n_head=4, n_positions=64, rotary_dim=8)],
    "gpt_neox": [DECODER, dict(DECODER, tie_word_embeddings=True, attention_bias=False)],
    "opt": [dict(vocab_size=96, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                 ffn_dim=80, max_position_embeddings=64, word_embed_proj_dim=48),
            dict(vocab_size=96, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                 ffn_dim=80, max_position_embeddings=64, word_embed_proj_dim=32,
                 do_layer_norm_before=False)],
    "bloom": [dict(vocab_size=96, hidden_size=48, n_layer=2, n_head=4)],
    "falcon": [dict(vocab_size=96, hidden_size=48, num_hidden_layers=2, num_attention_heads=4),
               dict(vocab_size=96, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                    new_decoder_architecture=True, num_kv_heads=2, bias=True),
               dict(vocab_size=96, hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                    multi_query=False, parallel_attn=False, alibi=True)],
    "mpt": [dict(vocab_size=96, d_model=48, n_layers=2, n_heads=4, max_seq_len=64)],
    "codegen": [dict(vocab_size=96, n_embd=48, n_layer=2, n_head=4, n_positions=64, rotary_dim=8)],
    "phi": [DECODER, dict(GROUPED, qk_layernorm=True)],
    "phi3": [dict(GROUPED, pad_token_id=0)],
    "llama": [GROUPED, dict(GROUPED, tie_word_embeddings=True, attention_bias=True, mlp_bias=True),
              dict(GROUPED, head_dim=16)],
    "mistral": [GROUPED],
    "helium": [dict(GROUPED, head_dim=12, attention_bias=True, mlp_bias=True)],
    "arcee": [GROUPED, dict(GROUPED, head_dim=16, attention_bias=True, mlp_bias=True,
                            tie_word_embeddings=True)],
    "mixtral": [dict(GROUPED, num_local_experts=3)],
    "qwen2": [GROUPED, dict(GROUPED, tie_word_embeddings=True)],
    "qwen2_moe": [dict(GROUPED, num_experts=3, num_experts_per_tok=2, moe_intermediate_size=24,
                       shared_expert_intermediate_size=40)],
    "qwen3": [dict(GROUPED, head_dim=16)],
    "qwen3_moe": [dict(GROUPED, head_dim=16, num_experts=3, num_experts_per_tok=2,
                       moe_intermediate_size=24, mlp_only_layers=[0])],
    "gemma": [dict(GROUPED, head_dim=16)],
    "gemma2": [dict(GROUPED, head_dim=16)],
    "gemma3_text": [dict(GROUPED, head_dim=16)],
    "gemma3": [dict(text_config=dict(GROUPED, head_dim=16), vision_config=TOWER,
                    mm_tokens_per_image=4),
               dict(text_config=dict(GROUPED, attention_bias=True), tie_word_embeddings=False,
                    vision_config=dict(TOWER, vision_use_head=False, num_channels=1),
                    mm_tokens_per_image=4),
               dict(text_config=dict(GROUPED, initializer_range=0.05), initializer_range=0.1,
                    vision_config=dict(TOWER, initializer_range=0.3), mm_tokens_per_image=4)],
    "olmo": [GROUPED],
    "olmo2": [GROUPED],
    "cohere": [GROUPED, dict(GROUPED, use_qk_norm=True)],
    "deepseek_v3": [dict(DECODER, num_key_value_heads=4, n_routed_experts=4, n_group=2, topk_group=1,
                         num_experts_per_tok=2, moe_intermediate_size=24, first_k_dense_replace=1,
                         q_lora_rank=20, kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=12,
                         v_head_dim=12)],
    "granite": [GROUPED],
    "mamba": [dict(vocab_size=96, hidden_size=48, num_hidden_layers=2, state_size=8)],
    "t5": [dict(vocab_size=96, d_model=48, d_kv=12, d_ff=80, num_layers=2, num_heads=4),
           dict(vocab_size=96, d_model=48, d_kv=12, d_ff=80, num_layers=2, num_decoder_layers=3,
                num_heads=4, feed_forward_proj="gated-gelu", tie_word_embeddings=False)],
    "bart": [dict(vocab_size=96, d_model=48, encoder_layers=2, decoder_layers=1,
                  encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=80,
                  decoder_ffn_dim=72, max_position_embeddings=64)],
    "whisper": [dict(vocab_size=96, d_model=48, encoder_layers=2, decoder_layers=1,
                     encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=80,
                     decoder_ffn_dim=72, max_source_positions=40, max_target_positions=32,
                     num_mel_bins=10, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                     decoder_start_token_id=1)],
    "bert": [DECODER],
    "roberta": [DECODER],
    "xlm-roberta": [DECODER],
    "camembert": [DECODER],
    "distilbert": [dict(vocab_size=96, dim=48, n_layers=2, n_heads=4, hidden_dim=80,
                        max_position_embeddings=64)],
    "deberta-v2": [dict(DECODER), dict(DECODER, relative_attention=True, position_buckets=8,
                                       norm_rel_ebd="layer_norm", share_att_key=True,
                                       pos_att_type=["p2c", "c2p"], position_biased_input=False)],
    "electra": [dict(DECODER, embedding_size=32)],
    "vit": [dict(hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=80,
                 image_size=32, patch_size=8)],
    "deit": [dict(hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=80,
                  image_size=32, patch_size=8)],
    "dinov2": [dict(hidden_size=48, num_hidden_layers=2, num_attention_heads=4, image_size=28,
                    patch_size=7)],
    "swin": [dict(embed_dim=24, depths=[2, 1], num_heads=[2, 4], window_size=4, image_size=32,
                  patch_size=4)],
    "convnext": [dict(hidden_sizes=[16, 24, 32, 48], depths=[1, 1, 2, 1])],
    "resnet": [dict(embedding_size=16, hidden_sizes=[32, 48], depths=[2, 1]),
               dict(embedding_size=16, hidden_sizes=[16, 32], depths=[1, 2], layer_type="basic")],
    "clip": [dict(projection_dim=24,
                  text_config=dict(DECODER, eos_token_id=2),
                  vision_config=dict(hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                                     intermediate_size=80, image_size=32, patch_size=8))],
    "siglip": [dict(text_config=dict(DECODER),
                    vision_config=dict(hidden_size=48, num_hidden_layers=2, num_attention_heads=4,
                                       intermediate_size=80, image_size=32, patch_size=8))],
    "clip_text_model": [dict(DECODER, projection_dim=24, eos_token_id=2)],
    "siglip_text_model": [dict(DECODER), dict(DECODER, projection_size=24)],
    "clip_vision_model": [VISION],
    "siglip_vision_model": [VISION, dict(VISION, vision_use_head=False)],
    "torchvision_resnet": [dict(layers=[1, 2, 1, 1], block="bottleneck", num_classes=7),
                           dict(layers=[1, 1, 1, 1], block="basic", num_classes=7,
                                zero_init_residual=True)],
    "timm_resnet": [dict(layers=[1, 2, 1, 1], block="bottleneck", num_classes=7),
                    dict(layers=[1, 1, 1, 1], block="basic", num_classes=7)],
    "torchvision_convnext": [dict(dims=[16, 24, 32, 48], depths=[1, 1, 2, 1], num_classes=7)],
    "timm_convnext": [dict(dims=[16, 24, 32, 48], depths=[1, 1, 2, 1], num_classes=7),
                      dict(dims=[16, 24, 32, 48], depths=[1, 1, 2, 1], num_classes=7, conv_mlp=True,
                           use_grn=True, ls_init_value=None),
                      dict(dims=[16, 24, 32, 48], depths=[1, 1, 2, 1], num_classes=0, conv_mlp=True,
                           head_norm_first=True, conv_bias=False)],
    "torchvision_swin": [dict(patch_size=4, embed_dim=16, depths=[1, 2, 1, 1], num_heads=[1, 2, 2, 4],
                              window_size=4, num_classes=7),
                         dict(patch_size=4, embed_dim=16, depths=[1, 2, 1, 1], num_heads=[1, 2, 2, 4],
                              window_size=4, num_classes=7, second_version=True)],
    "timm_swin": [dict(patch_size=4, embed_dim=16, depths=[1, 2, 1], num_heads=[1, 2, 4],
                       window_size=4, num_classes=7)],
    "torchvision_vit": [dict(image_size=32, patch_size=8, num_layers=2, num_heads=4, hidden_dim=48,
                             mlp_dim=80, num_classes=7)],
    "timm_vit": [dict(img_size=32, patch_size=8, depth=2, num_heads=4, embed_dim=48, num_classes=7),
                 dict(img_size=32, patch_size=8, depth=2, num_heads=4, embed_dim=48, num_classes=0,
                      class_token=False, global_pool="avg", qkv_bias=False, mlp_ratio=3),
                 dict(img_size=32, patch_size=8, depth=2, num_heads=4, embed_dim=48, num_classes=7,
                      init_values=1e-5, reg_tokens=4),
                 dict(img_size=32, patch_size=8, depth=2, num_heads=4, embed_dim=48, num_classes=7,
                      init_values=1e-5, no_embed_class=True)],
    "timm_deit": [dict(img_size=32, patch_size=8, depth=2, num_heads=4, embed_dim=48, num_classes=7)],
}
# Those that a file is made of: the bare model, and the one that is trained.
CLASSES = {
    "gpt2": ["GPT2Model", "GPT2LMHeadModel"], "gpt_neo": ["GPTNeoForCausalLM"],
    "gptj": ["GPTJForCausalLM"], "gpt_neox": ["GPTNeoXModel", "GPTNeoXForCausalLM"],
    "opt": ["OPTModel", "OPTForCausalLM"], "bloom": ["BloomForCausalLM"],
    "falcon": ["FalconForCausalLM"], "mpt": ["MptForCausalLM"], "codegen": ["CodeGenForCausalLM"],
    "phi": ["PhiForCausalLM"], "phi3": ["Phi3ForCausalLM"],
    "llama": ["LlamaModel", "LlamaForCausalLM"], "mistral": ["MistralForCausalLM"],
    "helium": ["HeliumForCausalLM"], "arcee": ["ArceeModel", "ArceeForCausalLM"],
    "mixtral": ["MixtralForCausalLM"], "qwen2": ["Qwen2ForCausalLM"],
    "qwen2_moe": ["Qwen2MoeForCausalLM"], "qwen3": ["Qwen3ForCausalLM"],
    "qwen3_moe": ["Qwen3MoeForCausalLM"], "gemma": ["GemmaForCausalLM"],
    "gemma2": ["Gemma2ForCausalLM"], "gemma3_text": ["Gemma3ForCausalLM"],
    "gemma3": ["Gemma3ForConditionalGeneration", "Gemma3Model", "Gemma3ForSequenceClassification"],
    "olmo": ["OlmoForCausalLM"], "olmo2": ["Olmo2ForCausalLM"], "cohere": ["CohereForCausalLM"],
    "deepseek_v3": ["DeepseekV3ForCausalLM"], "granite": ["GraniteForCausalLM"],
    "mamba": ["MambaForCausalLM"],
    "t5": ["T5Model", "T5ForConditionalGeneration", "T5EncoderModel"],
    "bart": ["BartModel", "BartForConditionalGeneration"],
    "whisper": ["WhisperModel", "WhisperForConditionalGeneration"],
    "bert": ["BertModel", "BertForMaskedLM", "BertForPreTraining"],
    "roberta": ["RobertaModel", "RobertaForMaskedLM"],
    "xlm-roberta": ["XLMRobertaModel", "XLMRobertaForMaskedLM"],
    "camembert": ["CamembertModel", "CamembertForMaskedLM"],
    "distilbert": ["DistilBertModel", "DistilBertForMaskedLM"],
    "deberta-v2": ["DebertaV2Model", "DebertaV2ForMaskedLM"],
    "electra": ["ElectraModel", "ElectraForPreTraining", "ElectraForMaskedLM"],
    "vit": ["ViTModel", "ViTForImageClassification"],
    "deit": ["DeiTModel", "DeiTForImageClassification"],
    "dinov2": ["Dinov2Model", "Dinov2ForImageClassification"],
    "swin": ["SwinModel", "SwinForImageClassification"],
    "convnext": ["ConvNextModel", "ConvNextForImageClassification"],
    "resnet": ["ResNetModel", "ResNetForImageClassification"],
    "clip": ["CLIPModel"], "siglip": ["SiglipModel"],
    "clip_text_model": ["CLIPTextModel", "CLIPTextModelWithProjection"],
    "siglip_text_model": ["SiglipTextModel"],
    "clip_vision_model": ["CLIPVisionModel"], "siglip_vision_model": ["SiglipVisionModel"],
    "torchvision_resnet": ["ResNet"], "timm_resnet": ["ResNet"],
    "torchvision_convnext": ["ConvNeXt"], "timm_convnext": ["ConvNeXt"],
    "torchvision_swin": ["SwinTransformer"], "timm_swin": ["SwinTransformer"],
    "torchvision_vit": ["VisionTransformer"], "timm_vit": ["VisionTransformer"],
    "timm_deit": ["VisionTransformerDistilled"],
}


def config_of(model_type, values):
    kind = transformers.CONFIG_MAPPING[model_type]
    return kind(**values)


def of_torchvision(kind, values):
    import torchvision
    if kind == "vit":
        return torchvision.models.VisionTransformer(**values)
    if kind == "convnext":
        from torchvision.models.convnext import CNBlockConfig, ConvNeXt
        own = dict(values)
        dims, depths = own.pop("dims"), own.pop("depths")
        return ConvNeXt([CNBlockConfig(*three) for three in zip(dims, dims[1:] + [None], depths)], **own)
    if kind == "swin":
        import torchvision.models.swin_transformer as swin
        own = dict(values)
        for key in ("patch_size", "window_size"):
            own[key] = [own[key]] * 2
        if own.pop("second_version", False):
            own.update(block=swin.SwinTransformerBlockV2, downsample_layer=swin.PatchMergingV2)
        return swin.SwinTransformer(**own)
    import torchvision.models.resnet as resnet
    blocks = {"basic": resnet.BasicBlock, "bottleneck": resnet.Bottleneck}
    return resnet.ResNet(**dict(values, block=blocks[values["block"]]))


def of_timm(kind, values):
    import timm.models.convnext as convnext
    import timm.models.resnet as resnet
    import timm.models.swin_transformer as swin
    import timm.models.vision_transformer as vit
    if kind == "vit":
        return vit.VisionTransformer(**values)
    if kind == "deit":
        from timm.models.deit import VisionTransformerDistilled
        return VisionTransformerDistilled(**values)
    if kind == "convnext":
        return convnext.ConvNeXt(**values)
    if kind == "swin":
        return swin.SwinTransformer(**values)
    blocks = {"basic": resnet.BasicBlock, "bottleneck": resnet.Bottleneck}
    return resnet.ResNet(**dict(values, block=blocks[values["block"]]))


def made(model_type, values, class_name, seed):
    """The model as its library draws it, and its config as it is saved."""
    torch.manual_seed(seed)
    library, _, kind = model_type.partition("_")
    if library in ("torchvision", "timm"):
        model = (of_torchvision if library == "torchvision" else of_timm)(kind, values)
        return model, dict(values, model_type=model_type, architectures=[class_name])
    config = config_of(model_type, values)
    model = getattr(transformers, class_name)(config)
    config.architectures = [class_name]
    saved = config.to_diff_dict()
    saved.pop("transformers_version", None)
    return model, saved


def write(model_type, index, values, class_name):
    sums = {}
    for seed in range(SEEDS):
        model, saved = made(model_type, values, class_name, seed)
        for name, tensor in model.named_parameters():
            entries = tensor.detach().double()
            moments = sums.setdefault(name, [list(tensor.shape), 0.0, 0.0])
            moments[1] += entries.mean().item() / SEEDS
            moments[2] += entries.square().mean().item() / SEEDS
    rows = [[name, shape, mean, max(0.0, square - mean * mean) ** 0.5]
            for name, (shape, mean, square) in sums.items()]
    path = os.path.join(HERE, "models", f"{model_type}-{index}-{class_name}.json")
    with open(path, "w") as file:
        lines = ",\n  ".join(json.dumps([n, s, float(f"{m:.6g}"), float(f"{d:.6g}")])
                             for n, s, m, d in rows)
        file.write('{"config": ' + json.dumps(saved) + ',\n "parameters": [\n  ' + lines + "]}\n")


def main():
    failed = []
    for model_type in sys.argv[1:] or SMALL:
        for index, values in enumerate(SMALL[model_type]):
            for class_name in CLASSES[model_type]:
                try:
                    write(model_type, index, values, class_name)
                except Exception as error:
                    failed.append(f"{model_type} {index} {class_name}: {error!r}"[:300])
    for line in failed:
        print(line, file=sys.stderr)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
