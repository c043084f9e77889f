# The tests, told as TAP.
n=0
failed=0
expect() { # WHAT WANTED GOT
  n=$((n + 1))
  if test "$2" = "$3"; then
    echo "ok $n - $1"
  else
    echo "not ok $n - $1: want $2, got $3"
    failed=1
  fi
}
echo "TAP version 14"
expect "one number" 7 "$(sh sum.sh 7 2>&1)"
expect "two numbers" 5 "$(sh sum.sh 2 3 2>&1)"
expect "fractions" 0.75 "$(sh sum.sh 0.5 0.25 2>&1)"
echo "1..$n"
exit $failed
