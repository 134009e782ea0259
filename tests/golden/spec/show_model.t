-- RUN: show job.plan --model
-- SETUP: "$lockstep" compile job.lua -q -o job.plan
return job {
  model = { "gpt2", layers = 2, width = 32, heads = 2, vocab = 64, positions = 16 },
  data = "synthetic",
  train = { batch = "2 sequences", steps = 10 },
  optimizer = { "adamw", lr = 1e-3 },
}
-- >>> exit 0
model gpt2: 28032 parameters
  wte.weight [vocab 64, width 32]
    normal 0 0.02, decays
  wpe.weight [positions 16, width 32]
    normal 0 0.02, decays
  h.*.ln_1.weight [width 32] x 2 layers
    constant 1
  h.*.ln_1.bias [width 32] x 2 layers
    constant 0
  h.*.attn.c_attn.weight [qkv 3, heads 2, head 16, width 32] x 2 layers
    normal 0 0.02, decays
  h.*.attn.c_attn.bias [qkv 3, heads 2, head 16] x 2 layers
    constant 0
  h.*.attn.c_proj.weight [width 32, heads 2, head 16] x 2 layers
    normal 0 0.01, decays
  h.*.attn.c_proj.bias [width 32] x 2 layers
    constant 0
  h.*.ln_2.weight [width 32] x 2 layers
    constant 1
  h.*.ln_2.bias [width 32] x 2 layers
    constant 0
  h.*.mlp.c_fc.weight [ffn 128, width 32] x 2 layers
    normal 0 0.02, decays
  h.*.mlp.c_fc.bias [ffn 128] x 2 layers
    constant 0
  h.*.mlp.c_proj.weight [width 32, ffn 128] x 2 layers
    normal 0 0.01, decays
  h.*.mlp.c_proj.bias [width 32] x 2 layers
    constant 0
  ln_f.weight [width 32]
    constant 1
  ln_f.bias [width 32]
    constant 0

region begin
  forward
    # wte.embedding specs/models/gpt2.lua:37:15
    %3 [batch 1, seq 16, width 32] bf16
      = embedding wte.weight, tokens
    # positions specs/models/gpt2.lua:37:57
    %4 [seq 16] i32
      = positions
    # wpe specs/models/gpt2.lua:37:15
    %6 [seq 16, width 32] bf16
      = embedding wpe.weight, %4
    # add specs/models/gpt2.lua:37:38
    %7 [batch 1, seq 16, width 32] bf16
      = add %3, %6
  backward
    # add specs/models/gpt2.lua:37:38
    %75 [seq 16, width 32] bf16
      = sum_to %74
    # wpe specs/models/gpt2.lua:37:15
    d wpe.weight [positions 16, width 32] fp32
      = embedding_backward %75, %4
    # wte.embedding specs/models/gpt2.lua:37:15
    d wte.weight [vocab 64, width 32] fp32
      = embedding_backward %74, tokens

stack h, 2 layers
  forward
    # h.*.ln_1 specs/models/gpt2.lua:9:37
    %11 [batch 1, seq 16, width 32] bf16,
    %12 [statistics 32] fp32
      = layernorm %8, h.*.ln_1.weight, h.*.ln_1.bias | 1e-05
    # h.*.attn.c_attn specs/models/gpt2.lua:9:15
    %15 [batch 1, seq 16, qkv 3, heads 2, head 16] bf16
      = linear %11, h.*.attn.c_attn.weight, h.*.attn.c_attn.bias
    # h.*.split specs/models/gpt2.lua:10:19
    %16 [batch 1, seq 16, heads 2, head 16] bf16 in %15,
    %17 [batch 1, seq 16, heads 2, head 16] bf16 in %15,
    %18 [batch 1, seq 16, heads 2, head 16] bf16 in %15
      = split %15 | 2
    # h.*.attention specs/models/gpt2.lua:11:13
    %19 [batch 1, seq 16, heads 2, head 16] bf16,
    %20 [statistics 32] fp32
      = attention %16, %17, %18 | 1 0.25
    # h.*.attn.c_proj specs/models/gpt2.lua:12:19
    %23 [batch 1, seq 16, width 32] bf16
      = linear %19, h.*.attn.c_proj.weight, h.*.attn.c_proj.bias
    # h.*.add specs/models/gpt2.lua:12:9
    %24 [batch 1, seq 16, width 32] bf16
      = add %8, %23
    # h.*.ln_2 specs/models/gpt2.lua:14:37
    %27 [batch 1, seq 16, width 32] bf16,
    %28 [statistics 32] fp32
      = layernorm %24, h.*.ln_2.weight, h.*.ln_2.bias | 1e-05
    # h.*.mlp.c_fc specs/models/gpt2.lua:14:18
    %31 [batch 1, seq 16, ffn 128] bf16
      = linear %27, h.*.mlp.c_fc.weight, h.*.mlp.c_fc.bias
    # h.*.gelu specs/models/gpt2.lua:14:13
    %32 [batch 1, seq 16, ffn 128] bf16
      = gelu %31
    # h.*.mlp.c_proj specs/models/gpt2.lua:15:22
    %35 [batch 1, seq 16, width 32] bf16
      = linear %32, h.*.mlp.c_proj.weight, h.*.mlp.c_proj.bias
    # h.*.add.2 specs/models/gpt2.lua:15:12
    %36 [batch 1, seq 16, width 32] bf16
      = add %24, %35
  backward
    # h.*.mlp.c_proj specs/models/gpt2.lua:15:22
    d h.*.mlp.c_proj.weight [width 32, ffn 128] fp32
      = linear_dw %32, %47
    d h.*.mlp.c_proj.bias [width 32] fp32
      = linear_db %47
    %52 [batch 1, seq 16, ffn 128] bf16
      = linear_dx %47, h.*.mlp.c_proj.weight
    # h.*.gelu specs/models/gpt2.lua:14:13
    %53 [batch 1, seq 16, ffn 128] bf16
      = gelu_backward %52, %31
    # h.*.mlp.c_fc specs/models/gpt2.lua:14:18
    d h.*.mlp.c_fc.weight [ffn 128, width 32] fp32
      = linear_dw %27, %53
    d h.*.mlp.c_fc.bias [ffn 128] fp32
      = linear_db %53
    %56 [batch 1, seq 16, width 32] bf16
      = linear_dx %53, h.*.mlp.c_fc.weight
    # h.*.ln_2 specs/models/gpt2.lua:14:37
    %57 [batch 1, seq 16, width 32] bf16,
    d h.*.ln_2.weight [width 32] fp32,
    d h.*.ln_2.bias [width 32] fp32
      = layernorm_backward %56, %24, h.*.ln_2.weight, %28 | 1e-05
    %60 [batch 1, seq 16, width 32] bf16
      = add %47, %57 | 1e-05
    # h.*.attn.c_proj specs/models/gpt2.lua:12:19
    d h.*.attn.c_proj.weight [width 32, heads 2, head 16] fp32
      = linear_dw %19, %60
    d h.*.attn.c_proj.bias [width 32] fp32
      = linear_db %60
    %63 [batch 1, seq 16, heads 2, head 16] bf16
      = linear_dx %60, h.*.attn.c_proj.weight
    # h.*.attention specs/models/gpt2.lua:11:13
    %64 [batch 1, seq 16, heads 2, head 16] bf16 in %67,
    %65 [batch 1, seq 16, heads 2, head 16] bf16 in %67,
    %66 [batch 1, seq 16, heads 2, head 16] bf16 in %67
      = attention_backward %63, %16, %17, %18, %19, %20 | 1 0.25
    # h.*.split specs/models/gpt2.lua:10:19
    %67 [batch 1, seq 16, qkv 3, heads 2, head 16] bf16
      = join %64, %65, %66 | 2
    # h.*.attn.c_attn specs/models/gpt2.lua:9:15
    d h.*.attn.c_attn.weight [qkv 3, heads 2, head 16, width 32] fp32
      = linear_dw %11, %67
    d h.*.attn.c_attn.bias [qkv 3, heads 2, head 16] fp32
      = linear_db %67
    %70 [batch 1, seq 16, width 32] bf16
      = linear_dx %67, h.*.attn.c_attn.weight
    # h.*.ln_1 specs/models/gpt2.lua:9:37
    %71 [batch 1, seq 16, width 32] bf16,
    d h.*.ln_1.weight [width 32] fp32,
    d h.*.ln_1.bias [width 32] fp32
      = layernorm_backward %70, %8, h.*.ln_1.weight, %12 | 1e-05
    %74 [batch 1, seq 16, width 32] bf16
      = add %60, %71 | 1e-05

region end
  forward
    # ln_f specs/models/gpt2.lua:39:38
    %40 [batch 1, seq 16, width 32] bf16,
    %41 [statistics 32] fp32
      = layernorm %37, ln_f.weight, ln_f.bias | 1e-05
    # wte.linear specs/models/gpt2.lua:39:26
    %42 [batch 1, seq 16, vocab 64] bf16
      = linear %40, wte.weight
    # cross_entropy specs/models/gpt2.lua:39:12
    cross_entropy.loss [statistics 2] fp64,
    %44 [batch 1, seq 16, vocab 64] bf16 in %42
      = cross_entropy %42, targets
  backward
    # wte.linear specs/models/gpt2.lua:39:26
    d wte.weight [vocab 64, width 32] fp32
      = linear_dw %40, %44
    %46 [batch 1, seq 16, width 32] bf16
      = linear_dx %44, wte.weight
    # ln_f specs/models/gpt2.lua:39:38
    %47 [batch 1, seq 16, width 32] bf16,
    d ln_f.weight [width 32] fp32,
    d ln_f.bias [width 32] fp32
      = layernorm_backward %46, %37, ln_f.weight, %41 | 1e-05
