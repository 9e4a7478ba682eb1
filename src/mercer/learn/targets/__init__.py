"""What is predicted: labels of classes, numbers, and the losses of numbers in their units."""
