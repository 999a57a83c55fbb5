"""What can be read off the films: labels by a network and by probes of frozen towers."""
