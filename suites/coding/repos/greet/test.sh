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
expect "a name" "Hello, Ada!" "$(sh greet.sh Ada)"
expect "no name" "Hello, world!" "$(sh greet.sh)"
echo "1..$n"
exit $failed
