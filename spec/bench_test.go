package spec

const benchLoop = `loop: l
pattern: confidence
agent: {model: m, reply: json, temperature: 0.2}
prompt: |
  Analyse this {{ task.vars.kind }} interview, at most {{ param.max_iterations }} times.
  {{ task.input }}
  {{ feedback == "" ? "" : "Improve on the previous attempt: " + feedback }}
evaluate:
  checks:
    - {name: strengths, expr: size(output.strengths) >= 2, feedback: more strengths}
    - {name: detail, expr: size(output.detail) >= 200, feedback: more detail}
terminate:
  confidence: {threshold: 0.85, min_iterations: 1}
  max_iterations: 3
  timeout: 60s
  no_improvement: {patience: 2}
  when: usage.cost_usd > 0.05
`
