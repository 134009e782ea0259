-- RUN: list ops
-- >>> exit 0
  model           A model file returns model { ... }
  input           Data of the micro-batch. batch is first, seq second if any
  positions       0, 1, 2 ... along seq
  weight          A weight to share: pass the handle in place of a name
  embedding       Rows of a table
  linear          Maps all features of a token to `out`
  layernorm       Layer normalisation over all features of a token, or each row
                  of the last dimension
  rmsnorm         Root mean square normalisation over all features of a token,
                  or each row of the last dimension
  attention       Softmax of q k / sqrt(head), times v, for each head; kv_heads
                  may be fewer than heads. window W: a token sees the last W
                  tokens, itself among them; softcap C: scores become C
                  tanh(score / C)
  rope            Rotary positions, halves rotated
  gelu            GELU: x times the share of a standard normal below x
  silu            x times sigmoid(x)
  relu            The larger of x and 0
  tanh            The hyperbolic tangent
  dropout         Zeroes elements at a rate while training, and scales the
                  others up
  split           One value per index of x's first feature
  stack           Layers: the block is traced once and returns what it takes
  cross_entropy   The mean over tokens of -log softmax(logits)[target]; with
                  smoothing e (1 - e) of that and e of its mean over the
                  classes; plus z log(sum(exp(logits))) squared
  mse             The mean over elements of (y - target) squared

lockstep help NAME says more
