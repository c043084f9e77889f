// What is wrong in the script of pages. It is linted whole, as pages have it.
const globals = Object.fromEntries(
  ("document location history navigator localStorage sessionStorage performance addEventListener getSelection scrollTo scrollY innerHeight setTimeout fetch atob Element Blob Response URL DecompressionStream").split(" ").map((name) => [name, "readonly"]),
);
const markup = ["innerHTML", "outerHTML", "insertAdjacentHTML", "write", "writeln", "srcdoc"].map((property) => ({ property, message: "make elements and texts, no markup" }));

export default [
  {
    languageOptions: { ecmaVersion: 2024, sourceType: "script", globals },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "array-callback-return": "error", "consistent-return": "off", "constructor-super": "error", "default-case-last": "error", eqeqeq: "error", "for-direction": "error", "getter-return": "error",
      "no-alert": "error", "no-async-promise-executor": "error", "no-compare-neg-zero": "error", "no-cond-assign": "error", "no-const-assign": "error", "no-constant-condition": "error",
      "no-dupe-args": "error", "no-dupe-else-if": "error", "no-dupe-keys": "error", "no-duplicate-case": "error", "no-empty": ["error", { allowEmptyCatch: true }], "no-empty-pattern": "error", "no-eval": "error",
      "no-ex-assign": "error", "no-extra-boolean-cast": "error", "no-fallthrough": "error", "no-func-assign": "error", "no-implicit-globals": "error", "no-implied-eval": "error",
      "no-invalid-regexp": "error", "no-loss-of-precision": "error", "no-new-func": "error", "no-promise-executor-return": "error", "no-prototype-builtins": "error", "no-redeclare": "error",
      "no-restricted-properties": ["error", ...markup], "no-script-url": "error", "no-self-assign": "error", "no-self-compare": "error", "no-shadow-restricted-names": "error", "no-sparse-arrays": "error",
      "no-template-curly-in-string": "error", "no-undef": "error", "no-unexpected-multiline": "error", "no-unreachable": "error", "no-unreachable-loop": "error", "no-unsafe-finally": "error",
      "no-unsafe-optional-chaining": "error", "no-unused-expressions": ["error", { allowShortCircuit: true }], "no-unused-vars": ["error", { args: "none", caughtErrors: "none" }], "no-useless-backreference": "error", "no-useless-escape": "error",
      "no-var": "error", "prefer-const": ["error", { destructuring: "all" }], "use-isnan": "error", "valid-typeof": "error",
    },
  },
];
