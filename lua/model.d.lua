---@meta model
-- What a model file may call, for editors with a Lua language server. docs/models.md explains it.

---@class Value A tensor with named dimensions and no numbers.
---@operator add(Value|Weight|number): Value
---@operator sub(Value|Weight|number): Value
---@operator mul(Value|Weight|number): Value
---@operator div(number): Value
---@operator unm: Value

---@class Weight A parameter that several calls share.
---@operator add(Value): Value
---@operator sub(Value): Value
---@operator mul(Value): Value

---@class Loss What forward returns: a loss, or a sum of losses with weights.
---@operator add(Loss): Loss
---@operator sub(Loss): Loss
---@operator mul(number): Loss
---@operator div(number): Loss
---@operator unm: Loss

---@alias Dims string|string[] Names of dimensions: "width", or { "heads", "head" }
---@alias Ids Value
---@alias Init "normal"|"uniform"|"constant"|"kaiming_uniform"|{ [1]: string, mean?: number, std?: number, low?: number, high?: number, value?: number }

---@class Sizes The sizes of the model, filled: m.width
---@field [string] any

---@class Family
---@field sizes? table<string, number|boolean|string|fun(m: Sizes): number|boolean|string>
---@field axes? table<string, "dp"|"cp"|"tp"|false>
---@field bias? boolean the default of every linear
---@field init? Init how weights begin; default { "normal", std = 0.02 }
---@field forward fun(m: Sizes): Loss
---@field huggingface? table

---@class Preset
---@field [1] string a family or another preset
---@field params? integer the published number of parameters, asserted
---@field [string] number|boolean|string

---A model file returns model { ... }.
---@generic T: Family|Preset
---@param declaration T
---@return T
function model(declaration) end

---A size that the preset or the job must give.
---@type any
required = nil

---Data of the micro-batch. batch is first, seq second if any.
---@param name string "targets" with { "batch", "seq" } and "ids": the next tokens
---@param dims Dims
---@param kind? "ids" whole numbers
---@return Value
function input(name, dims, kind) end

---0, 1, 2 ... along seq.
---@param ids Ids
---@return Ids
function positions(ids) end

---A weight to share: pass the handle in place of a name.
---@param name string the whole name, e.g. "wte.weight"
---@param dims Dims
---@param options? { init?: Init }
---@return Weight
function weight(name, dims, options) end

---Rows of a table.
---@param table string|Weight
---@param ids Ids
---@param dims? Dims rows, then features; of a name
---@return Value
function embedding(table, ids, dims) end

---Maps all features of a token to `out`. Makes NAME.weight [out..., in...] and NAME.bias [out...].
---@param weight string|Weight
---@param x Value
---@param out? Dims of a name
---@param options? { bias?: boolean, init?: Init }
---@return Value
function linear(weight, x, out, options) end

---Layer normalisation over all features of a token, or each row of the last dimension. Makes NAME.weight and NAME.bias.
---@param name string
---@param x Value
---@param options? { eps?: number, over?: string, offset?: number } over: the last dimension; offset 1: weights are factors less 1
---@return Value
function layernorm(name, x, options) end

---Root mean square normalisation over all features of a token, or each row of the last dimension. Makes NAME.weight.
---@param name string
---@param x Value
---@param options? { eps?: number, over?: string, offset?: number } over: the last dimension; offset 1: weights are factors less 1
---@return Value
function rmsnorm(name, x, options) end

---Softmax of q k / sqrt(head), times v, for each head; kv_heads may be fewer than heads. window W: a token sees the last W tokens, itself among them; softcap C: scores become C tanh(score / C).
---@param q Value [batch, seq, heads, head]
---@param k Value [batch, seq, kv_heads, head]
---@param v Value [batch, seq, kv_heads, head]
---@param options? { causal?: boolean, dropout?: number, scale?: number, softcap?: number, window?: integer }
---@return Value
function attention(q, k, v, options) end

---Rotary positions, halves rotated.
---@param x Value [batch, seq, heads, head]
---@param options? { base?: number, factor?: number, low_freq?: number, high_freq?: number, original_positions?: number } factor and the rest: Llama 3.1's scaling
---@return Value
function rope(x, options) end

---GELU: x times the share of a standard normal below x. As it is defined with "erf"; else its tanh form, 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), as GPT-2 has it.
---@param x Value
---@param form? "tanh"|"erf"
---@return Value
function gelu(x, form) end

---x times sigmoid(x).
---@param x Value
---@return Value
function silu(x) end

---The larger of x and 0.
---@param x Value
---@return Value
function relu(x) end

---The hyperbolic tangent.
---@param x Value
---@return Value
function tanh(x) end

---Zeroes elements at a rate while training, and scales the others up.
---@param x Value
---@param rate number 0 or more, below 1
---@return Value
function dropout(x, rate) end

---One value per index of x's first feature.
---@param x Value
---@param name string
---@return Value ...
function split(x, name) end

---Layers: the block is traced once and returns what it takes.
---@param name string
---@param layers integer
---@param x Value
---@param block fun(x: Value, m: Sizes): Value
---@return Value
function stack(name, layers, x, block) end

---The mean over tokens of -log softmax(logits)[target]; with smoothing e (1 - e) of that and e of its mean over the classes; plus z log(sum(exp(logits))) squared.
---@param logits Value
---@param targets Ids
---@param options? { smoothing?: number, z?: number, name?: string }
---@return Loss
function cross_entropy(logits, targets, options) end

---The mean over elements of (y - target) squared.
---@param y Value
---@param target Value
---@param options? { name?: string }
---@return Loss
function mse(y, target, options) end
