"""Rotary frequencies as transformers makes them, in float: the rows of rotary_test.cpp.

usage: rotary_reference.py
A row: rope_type, the tokens of the sequence, what turned features are multiplied by, one angle a
pair of a head of 16 features.
"""
import transformers
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

LISTS = {"short_factor": [1.0, 1.1, 1.2, 1.3], "long_factor": [1.0, 2.5, 9.0, 40.0]}
CASES = [
    (1, 4096, {"rope_type": "linear", "factor": 3.0}),
    (4096, 1024, {"rope_type": "dynamic", "factor": 2.0}),
    (1, 131072, {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                 "high_freq_factor": 4.0, "original_max_position_embeddings": 8192,
                 "rope_theta": 500000.0}),
    (1, 16384, {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096,
                "rope_theta": 1000000.0}),
    (1, 163840, {"rope_type": "yarn", "factor": 40.0, "original_max_position_embeddings": 4096,
                 "beta_fast": 16, "beta_slow": 2, "truncate": False,
                 "partial_rotary_factor": 0.5}),
    (8192, 131072, {"rope_type": "longrope", "factor": 32.0, "partial_rotary_factor": 0.5,
                    "original_max_position_embeddings": 4096, **LISTS}),
    (4096, 131072, {"rope_type": "longrope", "factor": 32.0, "partial_rotary_factor": 0.5,
                    "original_max_position_embeddings": 4096, **LISTS}),
]

for tokens, longest, parameters in CASES:
    config = transformers.LlamaConfig(hidden_size=64, num_attention_heads=4, head_dim=16,
                                      max_position_embeddings=longest,
                                      rope_parameters={"rope_theta": 10000.0, **parameters})
    theta, size = ROPE_INIT_FUNCTIONS[parameters["rope_type"]](config, "cpu", seq_len=tokens)
    print(parameters["rope_type"], tokens, size, [float(f"{x:.9g}") for x in theta.tolist()])
