-- llama3: conversations of Llama 3. A message without content is a turn that begins.
return function(messages)
  local pieces = { { special = "bos" } }
  local function add(piece) pieces[#pieces + 1] = piece end
  for _, message in ipairs(messages) do
    local trains = message.role == "assistant"
    add { special = "<|start_header_id|>" }
    add { text = message.role }
    add { special = "<|end_header_id|>" }
    add { text = "\n\n" }
    if not message.content then break end
    add { text = message.trimmed, train = trains }
    add { special = "<|eot_id|>", train = trains }
  end
  return pieces
end
