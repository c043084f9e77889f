# Prints how many words it reads.
wc -l | tr -d " "
