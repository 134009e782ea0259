-- RUN: tune job.lua --goal soon
return job {}
-- >>> exit 1
lockstep: --goal wants fastest, cheapest, fewest, or a time such as 20d, not
    'soon'
