"""What an operator of the operator looks at: metrics, health, logs; and the supervision of tasks."""
