-- Llama 3.1 405B, by its other name.
return model { "llama3.1-405b", params = 405853388800 }
