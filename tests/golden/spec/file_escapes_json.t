-- RUN: check $'a\033\377b.lua' --json | tr , '\n'
-- >>> exit 1
{"version": 1
 "ok": false
 "diagnostics": [{"severity":"error"
"name":"no-file"
"file":"a\u001b\\xffb.lua"
"line":0
"column":0
"message":"cannot read a\u001b\\xffb.lua: there is no such file"
"fix":null}]
}
