# Greets who is named, else the world.
echo "Hello, $1!"
