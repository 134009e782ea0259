-- chatml: conversations of Qwen and others. A message without content is a turn that begins.
return function(messages)
  local pieces = {}
  local function add(piece) pieces[#pieces + 1] = piece end
  for _, message in ipairs(messages) do
    local trains = message.role == "assistant"
    add { special = "<|im_start|>" }
    add { text = message.role .. "\n" }
    if not message.content then break end
    add { text = message.content, train = trains }
    add { special = "<|im_end|>", train = trains }
    add { text = "\n" }
  end
  return pieces
end
