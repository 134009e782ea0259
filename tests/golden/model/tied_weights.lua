-- An autoencoder with one weight, used both ways round.
return model {
  sizes = { inputs = 8, hidden = 4 },
  forward = function(m)
    local x = input("x", { "batch", "inputs" })
    local w = weight("w", { "hidden", "inputs" })
    return mse(linear(w, relu(linear(w, x))), x)
  end,
}
-- >>> expected
-- 32 parameters
-- begin x 1:
--     linear w.linear [batch, hidden]
--     relu relu [batch, hidden]
--     linear w.linear.2 [batch, inputs]
--     mse mse
