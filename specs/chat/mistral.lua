-- mistral: conversations of Mistral's models, user and assistant in turn. [INST] is a token of newer tokenizers, and
-- text for older ones. A message without content is a turn that begins.
return function(messages)
  local pieces = { { special = "bos" } }
  local function add(piece) pieces[#pieces + 1] = piece end
  local function mark(name) add(has(name) and { special = name } or { text = name }) end
  for _, message in ipairs(messages) do
    if message.role == "user" then
      mark "[INST]"
      add { text = " " }
      add { text = message.content }
      add { text = " " }
      mark "[/INST]"
    elseif message.role == "assistant" then
      if not message.content then break end
      add { text = message.content, train = true }
      add { special = "eos", train = true }
    else
      error("mistral has no role '" .. message.role .. "': put its text into the first user message")
    end
  end
  return pieces
end
