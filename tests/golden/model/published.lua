return model {
  "gpt2", layers = 12, width = 768, heads = 12,
  params = 124439809,
}
-- >>> expected
-- published.lua:3:3: error[published-parameters]: params says 124,439,809, the
--     model has 124,439,808: 1 fewer
--     3 |   params = 124439809,
--       |   ^~~~~~
--         fix: params = 124439808
--     note: begin: 39,383,808
--     note: h: 12 x 7,087,872
--     note: end: 1,536
