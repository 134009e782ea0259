#!/usr/bin/env python3
"""The counts of model_math against the published sizes of the models."""

import unittest

from model_math import Gpt2, LlamaStack, flops_per_token, utilisation


class ModelMath(unittest.TestCase):
    def test_gpt2_has_its_124_million_parameters(self):
        # OpenAI's checkpoint holds 124,439,808.
        self.assertEqual(Gpt2(vocabulary=50257).parameters(), 124439808)

    def test_a_llama_layer_has_218_million(self):
        # (8,030,261,248 - 2 x 128256 x 4096 - 4096) / 32, from the published checkpoint.
        self.assertEqual(LlamaStack(layers=1).parameters(), 218112000)
        self.assertEqual(
            32 * LlamaStack(layers=1).parameters() + 2 * 128256 * 4096 + 4096, 8030261248
        )

    def test_utilisation_of_a_published_run(self):
        # llm.c, October 2024: 524,288 tokens a step in 140 ms on 8 H100, reported as 38 %.
        rate = 524288 / 0.140 / 8
        self.assertAlmostEqual(utilisation(Gpt2(), rate), 0.38, delta=0.01)

    def test_attention_counts_half_of_a_full_square(self):
        with_attention = flops_per_token(Gpt2(tokens=1024))
        self.assertEqual(with_attention - 6 * Gpt2().matmul_weights(), 6 * 12 * 768 * 1024)


if __name__ == "__main__":
    unittest.main()
