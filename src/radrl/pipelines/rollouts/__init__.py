"""K samples a training film."""
