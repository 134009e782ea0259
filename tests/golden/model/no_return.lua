return model { sizes = { inputs = 8 }, forward = function(m) end }
-- >>> expected
-- no_return.lua:1:40: error[no-loss]: forward returns the loss, e.g. return
--     cross_entropy(logits, targets); it returns nothing
--     1 | return model { sizes = { inputs = 8 }, forward = function(m) end }
--       |                                        ^~~~~~~
